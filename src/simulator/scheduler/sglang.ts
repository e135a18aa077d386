import { createDecoding } from '../decoding.ts';
import { emptyStep, type StepWork } from '../machine.ts';
import { addChunk, computeChunks, type Prefill, type SchedulerKind } from './scheduler.ts';

/** Of `schedule_policy.py` and `server_args.py` of SGLang 0.5: what is reserved of answers that are still to come. */
const reserve = { first: 0.7, leastShare: 0.14, decaySteps: 600, clipTokens: 4096, retractSteps: 20 };

/**
 * SGLang: prompts come before decoding, each in steps of their own. A request is let in when its prompt and a share of
 * all answers to come fit; the share shrinks as decoding goes on, and when it was too small some requests are retracted:
 * those with the fewest tokens answered.
 */
export const sglang: SchedulerKind = {
  name: 'sglang',
  create(requests, options) {
    const { maxBatchedTokens, maxRunningRequests, chunkedPrefill, mixedChunk, verifiedTokens, tokensPerStep } = options;
    const capacity = options.kvTokens;
    const firstShare = Math.min(1, reserve.first * options.scheduleConservativeness);
    const leastShare = Math.min(1, firstShare * reserve.leastShare);
    const decay = (firstShare - leastShare) / reserve.decaySteps;
    let share = firstShare;
    const decoding = createDecoding(1, tokensPerStep, requests.decoded);
    let waiting: number[] = [];
    let waitingFrom = 0;
    let prefills: Prefill[] = [];
    const answered = new Map<number, number>();
    let used = 0;
    let preemptions = 0;
    let decodes = false;
    /** Somebody was turned away, and nobody has finished since. */
    let full = false;

    const answerLeft = (id: number): number => requests.outputTokens(id) - (answered.get(id) ?? 0);

    function letIn(step: StepWork, budgetTokens: number): void {
      let budget = budgetTokens;
      const partial = prefills[0];
      if (full && partial === undefined) return;
      // What stays free for answers: a share of what those that decode still need, all of what this step lets in.
      let free = capacity - used - decoding.stepsLeft() * tokensPerStep * share;
      if (partial !== undefined) {
        const chunk = Math.min(partial.tokens - partial.computed, budget);
        used += chunk;
        free -= chunk;
        budget -= chunk;
        addChunk(step, partial, chunk);
        if (partial.computed + chunk < partial.tokens) return;
      }
      while (waitingFrom < waiting.length && budget > 0) {
        if (decoding.size + prefills.length >= maxRunningRequests) break;
        const id = waiting[waitingFrom] as number;
        const tokens = requests.promptTokens(id) + (answered.get(id) ?? 0);
        const cached = Math.min(requests.cachedTokens(id), tokens - 1);
        const left = tokens - cached;
        const toCome = Math.min(answerLeft(id), reserve.clipTokens);
        // Alone a request is let in whatever is reserved: it fits, or it would not be here.
        if (left + toCome >= free && decoding.size + prefills.length > 0) {
          full = true;
          break;
        }
        if (left > budget && !chunkedPrefill && step.prompts > 0) break;
        const chunk = chunkedPrefill ? Math.min(left, budget) : left;
        waitingFrom++;
        const prefill = { id, tokens, computed: cached, chunk };
        prefills.push(prefill);
        used += cached + chunk;
        budget -= chunk;
        free -= left + toCome;
        addChunk(step, prefill, chunk);
        if (chunk < left) break;
      }
      if (waitingFrom > 4096) {
        waiting = waiting.slice(waitingFrom);
        waitingFrom = 0;
      }
    }

    /** Throws out those with the fewest tokens answered, of equal ones the longest prompt, until some steps fit again. */
    function retract(): void {
      const order = [...decoding.ids()].map((id) => ({
        id,
        tokens: (answered.get(id) ?? 0) + 1 + requests.tokensIn(id, decoding.stepsOf(id)),
        prompt: requests.promptTokens(id),
      }));
      order.sort((a, b) => b.tokens - a.tokens || a.prompt - b.prompt);
      while (order.length > 1 && capacity - used < order.length * reserve.retractSteps * tokensPerStep) {
        const { id, tokens } = order.pop() as (typeof order)[number];
        used -= decoding.leave(id).kvTokens;
        answered.set(id, tokens);
        waiting.push(id);
        preemptions++;
      }
      const done = order.reduce((sum, { tokens }) => sum + tokens, 0);
      const asked = order.reduce((sum, { id }) => sum + requests.outputTokens(id), 0);
      share = Math.min(1, (done + reserve.retractSteps * order.length) / (asked + 1));
    }

    function decode(step: StepWork): void {
      if (used + decoding.newBlocks() > capacity) retract();
      used += decoding.newBlocks();
      decodes = true;
      step.decodes = decoding.size;
      step.decodeTokens = decoding.size * verifiedTokens;
      step.contextTokens = decoding.contextTokens();
    }

    return {
      decoding,
      get waiting() {
        return waiting.length - waitingFrom;
      },
      get running() {
        return decoding.size + prefills.length;
      },
      get kvTokensUsed() {
        return used;
      },
      get preemptions() {
        return preemptions;
      },
      add: (id) => void waiting.push(id),
      cancel(id) {
        const at = prefills.findIndex((p) => p.id === id);
        const place = waiting.indexOf(id, waitingFrom);
        // The step under way has its place in the cache already.
        if (at >= 0) {
          const { computed, chunk } = prefills.splice(at, 1)[0] as Prefill;
          used -= computed + chunk;
        } else if (decoding.has(id)) used -= decoding.leave(id).kvTokens + (decodes ? tokensPerStep : 0);
        else if (place >= 0) waiting.splice(place, 1);
        answered.delete(id);
        full = false;
      },
      plan() {
        const step = emptyStep();
        decodes = false;
        const mixed = mixedChunk && decoding.size > 0;
        letIn(step, maxBatchedTokens - (mixed ? decoding.size : 0));
        if (step.prompts === 0 || mixed) {
          if (decoding.size > 0) decode(step);
          else if (step.prompts === 0) {
            share = firstShare;
            return null;
          }
        }
        return step;
      },
      end() {
        const finished: number[] = [];
        if (decodes) {
          for (const { id, kvTokens } of decoding.step()) {
            used -= kvTokens;
            finished.push(id);
          }
          share = Math.max(leastShare, share - decay);
        }
        const promptEnds: number[] = [];
        prefills = computeChunks(prefills, ({ id, tokens }) => {
          promptEnds.push(id);
          const left = answerLeft(id) - 1;
          if (left > 0) decoding.join(id, tokens, requests.stepsFor(id, left));
          else {
            used -= tokens;
            finished.push(id);
          }
        });
        for (const id of finished) answered.delete(id);
        if (finished.length > 0) full = false;
        return { promptEnds, finished };
      },
    };
  },
};
