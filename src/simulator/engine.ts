import { createFrontEnd } from './front-end.ts';
import { type EngineCosts, gpuSeconds, type ModelWork, type Rates } from './machine.ts';
import type { Requests, Scheduler, SchedulerKind, SchedulerOptions } from './scheduler/scheduler.ts';

/** Everything that decides how fast a simulated engine is. */
export interface EngineSpec {
  readonly scheduler: SchedulerKind;
  readonly options: SchedulerOptions;
  readonly model: ModelWork;
  readonly rates: Rates;
  readonly costs: EngineCosts;
}

/** What happened in one step. */
export interface StepEvent {
  readonly startS: number;
  readonly endS: number;
  /** Requests that got a token because their prompt was through. */
  readonly promptEnds: readonly number[];
  /** Whether those that decode got theirs, too. */
  readonly decoded: boolean;
  readonly finished: readonly number[];
}

/** A simulated engine on a clock of its own: requests are added, and it goes from step to step. */
export interface SimulatedEngine {
  /** A request arrives; not before anything that has happened. */
  add(id: number, atS: number): void;
  /**
   * When the step under way ends, or, where there is none, when the next one can begin; Infinity when there is nothing
   * to do. A request that arrives before that time has to be added first.
   */
  nextS(): number;
  /** Goes on to `nextS()`; null when no step ended then. */
  advance(): StepEvent | null;
  cancel(id: number): void;
  readonly scheduler: Scheduler;
  /** Requests in the front end. */
  readonly inFrontEnd: number;
}

/** @throws RangeError for a request that can never be computed: ask `refusalOf` before it is added */
export function createEngine(spec: EngineSpec, requests: Requests): SimulatedEngine {
  const { model, rates, costs } = spec;
  const frontEnd = createFrontEnd(costs.requestS);
  const scheduler = spec.scheduler.create(requests, spec.options);
  let nowS = 0;
  let step: { readonly startS: number; readonly endS: number; readonly decoded: boolean } | null = null;

  /** Lets those in that are through the front end by now, and begins the next step if there is one. */
  function begin(): void {
    while (frontEnd.nextS() <= nowS) scheduler.add(frontEnd.take());
    const work = scheduler.plan();
    if (work === null) return;
    const gpuS = Math.max(gpuSeconds(work, model, rates), costs.launchS);
    step = { startS: nowS, endS: nowS + gpuS + costs.stepS, decoded: work.decodes > 0 };
  }

  return {
    scheduler,
    get inFrontEnd() {
      return frontEnd.inside;
    },
    add: (id, atS) => frontEnd.add(id, atS),
    nextS: () => step?.endS ?? Math.max(nowS, frontEnd.nextS()),
    advance() {
      if (step === null) {
        nowS = Math.max(nowS, frontEnd.nextS());
        begin();
        return null;
      }
      const { startS, endS, decoded } = step;
      nowS = endS;
      step = null;
      const { promptEnds, finished } = scheduler.end();
      begin();
      return { startS, endS, promptEnds, decoded, finished };
    },
    cancel(id) {
      if (!frontEnd.drop(id)) scheduler.cancel(id);
    },
  };
}

/** Why a request can never be computed there; undefined when it can. */
export function refusalOf(
  { options }: Pick<EngineSpec, 'options'>,
  { promptTokens, outputTokens }: { readonly promptTokens: number; readonly outputTokens: number },
): string | undefined {
  const { kvTokens, blockTokens, maxBatchedTokens, chunkedPrefill } = options;
  const blocks = Math.ceil((promptTokens + outputTokens) / blockTokens);
  if (blocks * blockTokens > kvTokens) {
    return `prompt and answer have ${promptTokens + outputTokens} tokens, and the KV cache has room for ${kvTokens}`;
  }
  if (!chunkedPrefill && promptTokens > maxBatchedTokens) {
    return `the prompt has ${promptTokens} tokens, and a step takes ${maxBatchedTokens} without chunked prefill`;
  }
  return undefined;
}
