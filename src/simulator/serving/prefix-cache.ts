/** A prompt as the prefix cache knows it. */
export interface Prefix {
  /** For each whole block of tokens a number that stands for it and for all that comes before it. */
  readonly blocks: Float64Array;
}

/** What the KV cache still holds of prompts, for those that begin alike. */
export interface PrefixCache {
  prefixOf(prompt: Uint32Array): Prefix;
  /** Tokens at the beginning of a prompt whose keys and values are there. */
  cachedTokens(prefix: Prefix): number;
  /** The prompt is computed, and its request goes on: its blocks stay whatever room there is. */
  hold(prefix: Prefix): void;
  /** The request is done, or lost its place: its blocks stay as long as there is room. */
  release(prefix: Prefix): void;
  /** So much of the KV cache is not needed by those that run; the blocks used longest ago make way. */
  fit(freeTokens: number): void;
  /** Forgets everything but what is held. */
  reset(): void;
  /** Tokens that are kept beyond what is held. */
  readonly idleTokens: number;
}

/** A tree of single tokens, as SGLang's, would take an entry for each; blocks of so many lose little. */
const leastBlockTokens = 16;

/**
 * Prefix caching by whole blocks, as vLLM and TensorRT-LLM do it: equal prompts share their blocks as far as they are
 * equal, and of the blocks that nobody uses, those used longest ago are given up first, of one prompt the last ones. Of a
 * prompt that is there as a whole the last token is computed all the same. Answers are not kept.
 */
export function createPrefixCache(kvBlockTokens: number): PrefixCache {
  const blockTokens = Math.max(kvBlockTokens, leastBlockTokens);
  /** How many running requests use a block. */
  const held = new Map<number, number>();
  /** Blocks that nobody uses, those used longest ago first. */
  const idle = new Set<number>();

  return {
    prefixOf(prompt) {
      const blocks = new Float64Array(Math.max(0, Math.floor((prompt.length - 1) / blockTokens)));
      let high = 0x811c9dc5;
      let low = 0x9e3779b9;
      for (let block = 0; block < blocks.length; block++) {
        for (let i = block * blockTokens; i < (block + 1) * blockTokens; i++) {
          const token = prompt[i] as number;
          high = Math.imul(high ^ token, 0x01000193) ^ (high >>> 15);
          low = Math.imul(low + token, 0x85ebca6b) ^ (low >>> 13);
        }
        blocks[block] = (high >>> 0) * 2 ** 21 + ((low >>> 0) & 0x1fffff);
      }
      return { blocks };
    },
    cachedTokens({ blocks }) {
      let found = 0;
      while (found < blocks.length && (held.has(blocks[found] as number) || idle.has(blocks[found] as number))) found++;
      return found * blockTokens;
    },
    hold({ blocks }) {
      for (const block of blocks) {
        idle.delete(block);
        held.set(block, (held.get(block) ?? 0) + 1);
      }
    },
    release({ blocks }) {
      for (const block of blocks.toReversed()) {
        const users = (held.get(block) ?? 0) - 1;
        if (users > 0) {
          held.set(block, users);
          continue;
        }
        held.delete(block);
        idle.delete(block);
        idle.add(block);
      }
    },
    fit(freeTokens) {
      for (const block of idle) {
        if (idle.size * blockTokens <= freeTokens) break;
        idle.delete(block);
      }
    },
    reset: () => idle.clear(),
    get idleTokens() {
      return idle.size * blockTokens;
    },
  };
}
