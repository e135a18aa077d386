import { missedBlocks } from './metrics.ts';
import type { EngineState } from './state.ts';

/** TensorRT-LLM's `/metrics`: a list of iterations that is gone once it was read. */
export interface Iterations {
  /** A step ended. */
  add(state: EngineState, startS: number, endS: number): void;
  read(): readonly object[];
}

/** Most that wait to be read; older ones are dropped, as the engine itself does. */
const most = 1000;

export function createIterations(blockTokens: number, drafting: boolean): Iterations {
  let waiting: object[] = [];
  let iteration = 0;
  let [drafted, accepted] = [0, 0];
  return {
    add(state, startS, endS) {
      const reused = Math.floor(state.prefixHits / blockTokens);
      const missed = missedBlocks(state, blockTokens);
      const blocks = Math.floor(state.kvTokens / blockTokens);
      const used = Math.ceil(state.kvTokensUsed / blockTokens);
      waiting.push({
        simulated: true,
        iter: ++iteration,
        iterLatencyMS: (endS - startS) * 1000,
        numActiveRequests: state.running,
        numQueuedRequests: state.waiting,
        kvCacheStats: {
          maxNumBlocks: blocks,
          freeNumBlocks: blocks - used,
          usedNumBlocks: used,
          tokensPerBlock: blockTokens,
          reusedBlocks: reused,
          missedBlocks: missed,
          cacheHitRate: reused + missed === 0 ? 0 : reused / (reused + missed),
        },
        // It reserves whole answers, so that nobody is ever paused.
        inflightBatchingStats: { numScheduledRequests: state.running, numPausedRequests: 0 },
        ...(drafting
          ? {
              specDecodingStats: {
                numDraftTokens: state.draftedTokens - drafted,
                numAcceptedTokens: state.acceptedTokens - accepted,
              },
            }
          : {}),
      });
      [drafted, accepted] = [state.draftedTokens, state.acceptedTokens];
      if (waiting.length > most) waiting = waiting.slice(-most);
    },
    read() {
      const all = waiting;
      waiting = [];
      return all;
    },
  };
}
