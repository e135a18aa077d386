import { openaiChat } from '../../src/endpoints/openai-chat.ts';
import { type Arrivals, atOnce } from '../../src/load/arrivals.ts';
import { type LoadHooks, type LoadPlan, type LoadResult, type LoadTarget, runLoad } from '../../src/load/runner.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import type { Replay } from './replay.ts';

/** A plan for `count` requests of 8 tokens, due at once. */
export function plan(count: number, more: Partial<LoadPlan> = {}): LoadPlan {
  return {
    requests: Array.from({ length: more.minDurationS ? count * 1000 : count }, (_, index) => ({
      index,
      prompt: `request ${index}`,
      promptTokens: 2,
      outputTokens: 8,
    })),
    minRequests: count,
    minDurationS: 0,
    maxConcurrency: null,
    arrivals: atOnce,
    ask: { sampling: {}, ignoreEos: true, compat: 'servetune' },
    ...more,
  };
}

/** A Poisson process. */
export const atRate = (requestRate: number): Arrivals => ({ requestRate, burstiness: 1, seed: 0 });

/** A result whose records are an array. */
export type Result = Omit<LoadResult, 'records'> & { readonly records: readonly RequestRecord[] };

export const run = (replay: Replay, load: LoadPlan, hooks: Partial<LoadHooks> = {}): Promise<Result> =>
  runAt({ baseUrl: replay.baseUrl }, load, hooks);

export async function runAt(
  target: Partial<LoadTarget> & Pick<LoadTarget, 'baseUrl'>,
  load: LoadPlan,
  hooks: Partial<LoadHooks> = {},
): Promise<Result> {
  const { signal } = new AbortController();
  const result = await runLoad({ endpoint: openaiChat, model: 'm', ...target }, load, { signal, ...hooks });
  return { ...result, records: [...result.records] };
}
