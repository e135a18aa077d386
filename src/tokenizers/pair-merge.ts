/** More symbols than any vocabulary and all of Unicode have together; a pair of them is still an exact double. */
const symbolSpan = 2 ** 25;
const none = 0x7fffffff;

/**
 * Byte-pair merging: the function splits a word into characters and joins neighbours, always the pair that stands
 * first in `merges`, and the leftmost of equal ones, until no pair is left.
 *
 * Numbers throughout, and a plain scan for the next pair, which for words of up to a few hundred characters is several
 * times as fast as a queue. The time grows with the square of the length.
 */
export function pairMerger(merges: readonly (readonly [string, string])[]): (word: string) => string[] {
  const symbols = new Map<string, number>();
  const names: string[] = [];
  const symbolOf = (name: string): number => {
    let symbol = symbols.get(name);
    if (symbol === undefined) {
      symbol = names.push(name) - 1;
      symbols.set(name, symbol);
    }
    return symbol;
  };

  const rankOf = new Map<number, number>();
  const joined = new Int32Array(merges.length);
  for (const [rank, [left, right]] of merges.entries()) {
    rankOf.set(symbolOf(left) * symbolSpan + symbolOf(right), rank);
    joined[rank] = symbolOf(left + right);
  }

  return (word) => {
    const parts = Array.from(word, symbolOf);
    const pairRank = (i: number): number =>
      i < 0 || i + 1 >= parts.length
        ? none
        : (rankOf.get((parts[i] as number) * symbolSpan + (parts[i + 1] as number)) ?? none);
    const ranks = parts.map((_, i) => pairRank(i));

    for (;;) {
      let best = none;
      let at = -1;
      for (let i = 0; i < ranks.length; i++) {
        if ((ranks[i] as number) < best) {
          best = ranks[i] as number;
          at = i;
        }
      }
      if (at === -1) return parts.map((symbol) => names[symbol] as string);
      parts[at] = joined[best] as number;
      parts.splice(at + 1, 1);
      ranks.splice(at + 1, 1);
      ranks[at] = pairRank(at);
      if (at > 0) ranks[at - 1] = pairRank(at - 1);
    }
  };
}
