/** Pre-releases come before the release, post-releases behind it. */
const places: Readonly<Record<string, number>> = { dev: -4, a: -3, alpha: -3, b: -2, beta: -2, rc: -1, c: -1, post: 1 };

/**
 * Orders versions as Python's packages number them, as far as engines do: `0.11.0 < 0.11.1`, `1.2.0rc1 < 1.2.0 <
 * 1.2.0.post1`, `0.9 = 0.9.0`; llama.cpp's builds (`b7376`), which are older than its versions, count as 0.0.7376. What follows a `+` says nothing. Negative, zero or
 * positive, as for `sort`.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.max(left.release.length, right.release.length); i++) {
    const difference = (left.release[i] ?? 0) - (right.release[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.place - right.place || left.number - right.number;
}

function partsOf(version: string) {
  const build = /^b(\d+)$/.exec(version.trim());
  if (build) return { release: [0, 0, Number(build[1])], place: 0, number: 0 };
  const match = /^v?(\d+(?:\.\d+)*)(?:[.-]?(dev|alpha|a|beta|b|rc|c|post)(\d*))?/.exec(version.trim());
  const [, release = '0', word, number] = match ?? [];
  return {
    release: release.split('.').map(Number),
    place: word === undefined ? 0 : (places[word] as number),
    number: Number(number ?? 0),
  };
}
