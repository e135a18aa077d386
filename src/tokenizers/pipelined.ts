/** Maps a batch with `atOnce` calls under way at once, results in order; the first failure ends it. */
export async function pipelined<T, R>(
  items: readonly T[],
  atOnce: number,
  map: (item: T) => Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  const rest = items.entries();
  const work = async (): Promise<void> => {
    for (const [i, item] of rest) {
      signal?.throwIfAborted();
      results[i] = await map(item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
