import { createDecoding } from '../decoding.ts';
import { emptyStep, type StepWork } from '../machine.ts';
import {
  addChunk,
  blocksFor,
  computeChunks,
  type Prefill,
  type Requests,
  type Scheduler,
  type SchedulerOptions,
} from './scheduler.ts';

/** How an engine that computes prompts and answers in the same step keeps its KV cache from overflowing. */
export type Admission =
  /** A request is let in when its next tokens fit; when the cache is full the newest loses its place. */
  | 'preempt'
  /** A request is let in when its whole prompt and answer will fit beside those of all others. */
  | 'reserve';

/**
 * In-flight batching: each step has one budget of tokens; running requests take theirs first, then prompts in order of
 * arrival, in chunks where the engine does that.
 */
export function inFlight(requests: Requests, options: SchedulerOptions, admission: Admission): Scheduler {
  const { blockTokens, maxBatchedTokens, maxRunningRequests, chunkedPrefill, verifiedTokens } = options;
  const growth = options.tokensPerStep;
  // Fractions of a token have no blocks.
  const block = growth === 1 ? blockTokens : 1;
  const blocksOf = (kvTokens: number): number => (growth === 1 ? blocksFor(kvTokens, block) : kvTokens);
  const capacity = Math.floor(options.kvTokens / block);
  const decoding = createDecoding(block, growth, requests.decoded);
  /** In order of arrival; those that lost their place stand before all others. */
  const waiting: number[] = [];
  let waitingFrom = 0;
  const returned: number[] = [];
  /** Prompts under way, in the order in which they were let in. */
  let prefills: Prefill[] = [];
  /** Tokens that a request had answered before it lost its place. */
  const answered = new Map<number, number>();
  let used = 0;
  let reserved = 0;
  let preemptions = 0;

  const head = (): number | undefined => returned.at(-1) ?? waiting[waitingFrom];
  function takeHead(): void {
    if (returned.pop() !== undefined) return;
    waitingFrom++;
    if (waitingFrom <= 4096) return;
    waiting.splice(0, waitingFrom);
    waitingFrom = 0;
  }
  const wholeBlocks = (id: number): number => blocksFor(requests.promptTokens(id) + requests.outputTokens(id), block);
  const runningNow = (): number => decoding.size + prefills.length;

  /** The newest request loses its place; false when there is none but `but`. */
  function preempt(): boolean {
    const prefill = prefills.pop();
    if (prefill !== undefined) {
      used -= blocksFor(prefill.computed, block);
      returned.push(prefill.id);
      preemptions++;
      return true;
    }
    const newest = decoding.newest();
    if (newest === undefined) return false;
    drop(newest);
    returned.push(newest);
    preemptions++;
    return true;
  }

  /** Takes a request that decodes out of the cache; it will have to compute prompt and answer again. */
  function drop(id: number): void {
    const steps = decoding.stepsOf(id);
    const { kvTokens } = decoding.leave(id);
    used -= blocksOf(kvTokens);
    answered.set(id, (answered.get(id) ?? 0) + 1 + requests.tokensIn(id, steps));
  }

  function fits(blocks: number): boolean {
    return used + blocks <= capacity;
  }

  return {
    decoding,
    get waiting() {
      return waiting.length - waitingFrom + returned.length;
    },
    get running() {
      return runningNow();
    },
    get kvTokensUsed() {
      return used * block;
    },
    get preemptions() {
      return preemptions;
    },
    add: (id) => void waiting.push(id),
    cancel(id) {
      const at = prefills.findIndex((p) => p.id === id);
      // The step under way has its place in the cache already.
      if (at >= 0) {
        const { computed, chunk } = prefills[at] as Prefill;
        used -= blocksFor(computed + chunk, block);
        prefills.splice(at, 1);
        if (admission === 'reserve') reserved -= wholeBlocks(id);
      } else if (decoding.has(id)) {
        used -= blocksOf(decoding.leave(id).kvTokens + growth);
        if (admission === 'reserve') reserved -= wholeBlocks(id);
      } else {
        for (const [list, from] of [
          [returned, 0],
          [waiting, waitingFrom],
        ] as const) {
          const place = list.indexOf(id, from);
          if (place >= 0) list.splice(place, 1);
        }
      }
      answered.delete(id);
    },
    plan() {
      const step: StepWork = emptyStep();
      let preempted = false;
      while (!fits(decoding.newBlocks()) && preempt()) preempted = true;
      step.decodes = decoding.size;
      step.decodeTokens = decoding.size * verifiedTokens;
      step.contextTokens = decoding.contextTokens();
      used += decoding.newBlocks();
      let budget = maxBatchedTokens - step.decodeTokens;

      for (let i = 0; i < prefills.length; i++) {
        const prefill = prefills[i] as Prefill;
        const chunk = Math.min(prefill.tokens - prefill.computed, budget);
        const more = blocksFor(prefill.computed + chunk, block) - blocksFor(prefill.computed, block);
        // The newest goes first, so this one itself goes last.
        while (!fits(more) && prefills.length > i + 1 && preempt()) preempted = true;
        if (chunk <= 0 || !fits(more)) {
          prefill.chunk = 0;
          continue;
        }
        used += more;
        budget -= chunk;
        addChunk(step, prefill, chunk);
      }
      for (let id = head(); !preempted && id !== undefined && budget > 0; id = head()) {
        if (runningNow() >= maxRunningRequests) break;
        const tokens = requests.promptTokens(id) + (answered.get(id) ?? 0);
        const cached = Math.min(requests.cachedTokens(id), tokens - 1);
        const left = tokens - cached;
        if (left > budget && !chunkedPrefill) break;
        const chunk = Math.min(left, budget);
        if (admission === 'reserve' ? reserved + wholeBlocks(id) > capacity : !fits(blocksFor(cached + chunk, block)))
          break;
        takeHead();
        if (admission === 'reserve') reserved += wholeBlocks(id);
        const prefill = { id, tokens, computed: cached, chunk };
        prefills.push(prefill);
        used += blocksFor(cached + chunk, block);
        budget -= chunk;
        addChunk(step, prefill, chunk);
      }
      return step.decodes + step.prompts > 0 ? step : null;
    },
    end() {
      const finished: number[] = [];
      // A step in which nobody decodes is none of theirs.
      const done = decoding.size > 0 ? decoding.step() : [];
      for (const { id, kvTokens } of done) {
        used -= blocksOf(kvTokens);
        finished.push(id);
      }
      const promptEnds: number[] = [];
      prefills = computeChunks(prefills, ({ id, tokens }) => {
        promptEnds.push(id);
        const left = requests.outputTokens(id) - (answered.get(id) ?? 0) - 1;
        if (left > 0) decoding.join(id, tokens, requests.stepsFor(id, left));
        else {
          used -= blocksFor(tokens, block);
          finished.push(id);
        }
      });
      for (const id of finished) {
        answered.delete(id);
        if (admission === 'reserve') reserved -= wholeBlocks(id);
      }
      return { promptEnds, finished };
    },
  };
}
