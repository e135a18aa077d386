import { type Drafts, withDrafts, withoutDrafts } from './drafts.ts';
import { createEngine, type EngineSpec, refusalOf } from './engine.ts';
import type { Requests } from './scheduler/scheduler.ts';

/** Requests by columns: entry i of each list belongs to request i. */
export interface Load {
  /** When each may be sent, seconds; does not go back. All 0: a burst. */
  readonly arrivalsS: ArrayLike<number>;
  readonly promptTokens: ArrayLike<number>;
  readonly outputTokens: ArrayLike<number>;
  /** Of each prompt, tokens that the prefix cache holds when it is let in; absent: none. */
  readonly cachedTokens?: ArrayLike<number>;
  /** Most requests under way at once; null: any number. */
  readonly maxConcurrency: number | null;
}

/** When everything happened. Times are seconds since the load began. */
export interface Outcome {
  readonly requests: number;
  /** When each request was sent; NaN of one that was refused. */
  readonly sendS: Float64Array;
  readonly firstS: Float64Array;
  readonly endS: Float64Array;
  /** Why a request was never computed. */
  readonly refusals: ReadonlyMap<number, string>;
  /** When the last answer was complete. */
  readonly durationS: number;
  /** Ends of steps in which running requests decoded. */
  readonly decodeEndsS: Float64Array;
  readonly steps: number;
  readonly preemptions: number;
  readonly peakKvTokens: number;
  /** Calls back for every event of one request that brought tokens, in order. */
  eachToken(request: number, event: (atS: number, tokens: number) => void): void;
  /** Calls back for gaps between two events of a request, over all requests: so many of so many seconds, in no order. */
  eachGap(gap: (seconds: number, count: number) => void): void;
}

/**
 * Runs a load in virtual time. The same arguments give the same outcome on every machine. Time and memory are linear in
 * requests and steps; tokens cost nothing until they are asked for.
 *
 * @param drafts speculative decoding, where it is on; its draws come from `seed`
 */
export function simulate(spec: EngineSpec, load: Load, drafts: Drafts | null = null, seed = 0): Outcome {
  const count = load.promptTokens.length;
  const counting = drafts === null ? withoutDrafts : withDrafts(drafts, seed);
  const segments = createSegments(count);
  const requests: Requests = {
    promptTokens: (id) => load.promptTokens[id] as number,
    outputTokens: (id) => load.outputTokens[id] as number,
    cachedTokens: (id) => load.cachedTokens?.[id] ?? 0,
    stepsFor: counting.stepsFor,
    tokensIn: counting.tokensIn,
    decoded: (id, from, steps) => segments.close(id, from, steps),
  };
  const engine = createEngine(spec, requests);
  const sendS = new Float64Array(count).fill(Number.NaN);
  const firstS = new Float64Array(count).fill(Number.NaN);
  const endS = new Float64Array(count).fill(Number.NaN);
  const refusals = new Map<number, string>();
  const decodeEndsS: number[] = [];
  const most = load.maxConcurrency ?? Number.POSITIVE_INFINITY;
  let next = 0;
  let underWay = 0;
  let nowS = 0;
  let steps = 0;
  let peakKvTokens = 0;

  function send(id: number, atS: number): void {
    const refusal = refusalOf(spec, {
      promptTokens: requests.promptTokens(id),
      outputTokens: requests.outputTokens(id),
    });
    if (refusal !== undefined) {
      refusals.set(id, refusal);
      return;
    }
    sendS[id] = atS;
    underWay++;
    engine.add(id, atS);
  }

  for (;;) {
    // Whoever arrives before the engine's next step is there when it begins.
    while (next < count && underWay < most && (load.arrivalsS[next] as number) <= engine.nextS()) {
      send(next, Math.max(nowS, load.arrivalsS[next] as number));
      next++;
    }
    const untilS = engine.nextS();
    if (untilS === Number.POSITIVE_INFINITY) break;
    const event = engine.advance();
    nowS = untilS;
    if (event === null) continue;
    steps++;
    if (event.decoded) decodeEndsS.push(nowS);
    for (const id of event.promptEnds) {
      if (Number.isNaN(firstS[id])) firstS[id] = nowS;
      segments.open(id, nowS);
    }
    for (const id of event.finished) endS[id] = nowS;
    underWay -= event.finished.length;
    peakKvTokens = Math.max(peakKvTokens, engine.scheduler.kvTokensUsed);
  }

  const ends = Float64Array.from(decodeEndsS);

  /** Two decode steps in a row have the same gap for everybody who was in both: counted by where they begin and end. */
  function eachGap(gap: (seconds: number, count: number) => void): void {
    const changes = new Int32Array(ends.length + 1);
    for (let id = 0; id < count; id++) {
      let lastS = Number.NaN;
      segments.each(id, (atS, from, got) => {
        if (!Number.isNaN(lastS)) gap(atS - lastS, 1);
        lastS = got > 0 ? (ends[from + got - 1] as number) : atS;
        if (got === 0) return;
        gap((ends[from] as number) - atS, 1);
        changes[from + 1] = (changes[from + 1] as number) + 1;
        changes[from + got] = (changes[from + got] as number) - 1;
      });
    }
    let both = 0;
    for (let step = 1; step < ends.length; step++) {
      both += changes[step] as number;
      if (both > 0) gap((ends[step] as number) - (ends[step - 1] as number), both);
    }
  }

  return {
    requests: count,
    sendS,
    firstS,
    endS,
    refusals,
    durationS: nowS,
    decodeEndsS: ends,
    steps,
    preemptions: engine.scheduler.preemptions,
    peakKvTokens,
    eachGap,
    eachToken(request, event) {
      let left = requests.outputTokens(request);
      segments.each(request, (atS, from, got) => {
        event(atS, 1);
        left--;
        for (let step = 0; step < got && left > 0; step++) {
          const tokens = Math.min(left, counting.tokensAt(request, step));
          event(ends[from + step] as number, tokens);
          left -= tokens;
        }
      });
    },
  };
}

/**
 * How each request got its tokens: a prompt that was computed gave one, and then each of a row of decode steps. One that
 * lost its place in the cache has several such segments.
 */
interface Segments {
  open(id: number, atS: number): void;
  close(id: number, from: number, steps: number): void;
  each(id: number, segment: (atS: number, from: number, steps: number) => void): void;
}

function createSegments(count: number): Segments {
  const latest = new Int32Array(count).fill(-1);
  const atS: number[] = [];
  const from: number[] = [];
  const steps: number[] = [];
  const before: number[] = [];
  return {
    open(id, at) {
      before.push(latest[id] as number);
      latest[id] = atS.push(at) - 1;
      from.push(0);
      steps.push(0);
    },
    close(id, first, got) {
      const segment = latest[id] as number;
      from[segment] = first;
      steps[segment] = got;
    },
    each(id, segment) {
      const own: number[] = [];
      for (let at = latest[id] as number; at >= 0; at = before[at] as number) own.push(at);
      for (const at of own.reverse()) segment(atS[at] as number, from[at] as number, steps[at] as number);
    },
  };
}
