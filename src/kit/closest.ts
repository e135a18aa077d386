/** The word that `typed` was most likely meant to be, or undefined when none is near (Levenshtein distance over a third). */
export function closest(typed: string, words: readonly string[]): string | undefined {
  let best: { word: string; distance: number } | undefined;
  for (const word of words) {
    const d = distance(typed.toLowerCase(), word.toLowerCase());
    if (!best || d < best.distance) best = { word, distance: d };
  }
  return best && best.distance <= Math.max(2, Math.ceil(typed.length / 3)) ? best.word : undefined;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
