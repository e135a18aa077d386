/** Words that are one token each, with their space, in the vocabularies of all large models. */
const words = ['the', 'of', 'and', 'to', 'in', 'is', 'that', 'for', 'it', 'as', 'was', 'with', 'be', 'by', 'on', 'not', 'he', 'this', 'are', 'or', 'his', 'from', 'at', 'which', 'but', 'have', 'an', 'had', 'they', 'you', 'were', 'their', 'one', 'all', 'we', 'can', 'her', 'has', 'there', 'been', 'if', 'more', 'when', 'will', 'would', 'who', 'so', 'no', 'time', 'she', 'other', 'its', 'may', 'these', 'what', 'them', 'than', 'some', 'him', 'two', 'into', 'only', 'could', 'new'].map((word) => ` ${word}`); // biome-ignore format: a list

/** One number for a prompt, so that equal prompts get equal answers; unsigned, 32 bits. */
export function hashOf(prompt: Uint32Array, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) | 0;
  for (const token of prompt) hash = Math.imul(hash ^ token, 0x01000193);
  return mixed(hash) >>> 0;
}

/** Token `at` of the answer with that hash. */
export const wordOf = (hash: number, at: number): string =>
  words[(mixed(hash + Math.imul(at + 1, 0x9e3779b1)) >>> 0) % words.length] as string;

/** Median of answers, tokens, and standard deviation of their logarithm: near the answers of ShareGPT, mean 211. */
const lengths = { median: 128, spread: 1 };

/**
 * Tokens after which the answer with that hash ends by itself: log-normal, at least 1. Box and Muller's method, with two
 * uniform numbers drawn from the hash.
 */
export function lengthOf(hash: number): number {
  const uniform = (salt: number): number => ((mixed(hash ^ salt) >>> 0) + 0.5) / 2 ** 32;
  const normal = Math.sqrt(-2 * Math.log(uniform(0x5bd1e995))) * Math.cos(2 * Math.PI * uniform(0x1b873593));
  return Math.max(1, Math.round(lengths.median * Math.exp(lengths.spread * normal)));
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
