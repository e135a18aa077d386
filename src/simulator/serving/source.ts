import type { Generation, TokenSink, TokenSource } from '../../serving/source.ts';
import type { Simulable } from '../deployment.ts';
import { withDrafts, withoutDrafts } from '../drafts.ts';
import { createEngine, refusalOf, type StepEvent } from '../engine.ts';
import type { Requests } from '../scheduler/scheduler.ts';
import { hashOf, lengthOf, wordOf } from './answers.ts';
import type { SimulatedClock } from './clock.ts';
import { type OnStep, type Pacing, pace } from './pacing.ts';
import { createPrefixCache, type Prefix } from './prefix-cache.ts';
import type { Prompts } from './prompts.ts';
import { type Copy, type EngineState, newTallies, stateOf } from './state.ts';

/** What a simulated engine serves, and how. */
export interface SourceOptions {
  readonly simulable: Simulable;
  readonly clock: SimulatedClock;
  readonly prompts: Prompts;
  readonly prefixCaching: boolean;
  /** Answers, their lengths and accepted drafts follow from it and from the requests. */
  readonly seed: number;
  /** See `pace`. */
  readonly burstMs?: number;
  readonly about: Pick<
    TokenSource,
    'modelName' | 'maxModelLen' | 'trainContext' | 'vocabSize' | 'version' | 'settings'
  >;
  /** Told of each step that ended, and asked what the engine is then doing. */
  readonly onStep?: (event: StepEvent, state: () => EngineState) => void;
}

export interface SimulatedSource extends TokenSource {
  state(): EngineState;
  /** Forgets what the prefix cache holds; false while requests run or wait. */
  resetPrefixCache(): boolean;
  /** Lets the whole engine stand still for so many real seconds; Infinity is for good. */
  pause(durationS: number): void;
  stop(): void;
}

/** A request from its arrival to its last token. */
interface Stream {
  readonly sink: TokenSink;
  readonly copy: PacedCopy;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly reason: 'stop' | 'length';
  readonly hash: number;
  /** Null where prefix caching is off. */
  readonly prefix: Prefix | null;
  /** Of the prompt, tokens that were cached when the scheduler last asked. */
  cached: number;
  /** Its blocks are held in the prefix cache. */
  held: boolean;
  sent: number;
  /** Decode steps since its prompt was computed. */
  step: number;
}

interface PacedCopy extends Copy {
  readonly pacing: Pacing;
}

/** The simulated engine as something that gives tokens, each at its simulated time. */
export function simulatedSource(options: SourceOptions): SimulatedSource {
  const { simulable, clock, prompts, prefixCaching, seed, about, onStep } = options;
  const { spec, drafts, replicas } = simulable;
  const counting = drafts === null ? withoutDrafts : withDrafts(drafts, seed);
  const streams = new Map<number, Stream>();
  const tallies = newTallies();
  let nextId = 0;

  const streamOf = (id: number): Stream => streams.get(id) as Stream;
  const requests: Requests = {
    promptTokens: (id) => streamOf(id).promptTokens,
    outputTokens: (id) => streamOf(id).outputTokens,
    cachedTokens(id) {
      const stream = streamOf(id);
      if (stream.prefix !== null) stream.cached = stream.copy.cache?.cachedTokens(stream.prefix) ?? 0;
      return stream.cached;
    },
    stepsFor: counting.stepsFor,
    tokensIn: counting.tokensIn,
    decoded: (id) => letGo(streamOf(id)),
  };
  const copies = Array.from({ length: replicas }, (): PacedCopy => {
    const engine = createEngine(spec, requests);
    const cache = prefixCaching ? createPrefixCache(spec.options.blockTokens) : null;
    const onEnd: OnStep = (event, decoded) => stepEnded({ engine, cache }, event, decoded);
    const pacing = pace(engine, clock, onEnd, options.burstMs);
    return { engine, cache, pacing };
  });

  function letGo(stream: Stream): void {
    if (!stream.held || stream.prefix === null) return;
    stream.held = false;
    stream.copy.cache?.release(stream.prefix);
  }

  function stepEnded({ engine, cache }: Copy, event: StepEvent, decoded: readonly number[]): void {
    tallies.steps++;
    for (const id of event.promptEnds) promptEnded(id);
    for (const id of decoded) decodeEnded(id);
    for (const id of event.finished) {
      const stream = streams.get(id);
      // A stop string may have ended it with its last token.
      if (stream === undefined) continue;
      letGo(stream);
      streams.delete(id);
      stream.sink.end(stream.reason);
    }
    cache?.fit(spec.options.kvTokens - engine.scheduler.kvTokensUsed);
    onStep?.(event, look);
  }

  function promptEnded(id: number): void {
    const stream = streams.get(id);
    if (stream === undefined) return;
    stream.step = 0;
    if (stream.prefix !== null) {
      if (!stream.held) stream.copy.cache?.hold(stream.prefix);
      stream.held = true;
      if (stream.sent === 0) {
        tallies.prefixQueries += stream.promptTokens;
        tallies.prefixHits += stream.cached;
      }
    }
    if (stream.sent === 0) stream.sink.cached?.(stream.cached);
    send(stream, 1);
  }

  function decodeEnded(id: number): void {
    const stream = streams.get(id);
    if (stream === undefined) return;
    const tokens = counting.tokensAt(id, stream.step++);
    if (drafts !== null) {
      tallies.drafts++;
      tallies.draftedTokens += drafts.tokens;
      tallies.acceptedTokens += tokens - 1;
    }
    send(stream, tokens);
  }

  function send(stream: Stream, tokens: number): void {
    const count = Math.min(tokens, stream.outputTokens - stream.sent);
    let text = '';
    for (let i = 0; i < count; i++) text += wordOf(stream.hash, stream.sent + i);
    stream.sent += count;
    stream.sink.token(text, count);
  }

  /** The copy that has least to do. */
  function leastLoaded(): PacedCopy {
    const load = ({ engine: { scheduler, inFrontEnd } }: Copy) => scheduler.running + scheduler.waiting + inFrontEnd;
    return copies.reduce((best, copy) => (load(copy) < load(best) ? copy : best));
  }

  function look(): EngineState {
    const behindS = Math.max(...copies.map(({ pacing }) => pacing.behindS));
    return stateOf(copies, tallies, { kvTokens: spec.options.kvTokens, behindS });
  }

  function state(): EngineState {
    for (const { pacing } of copies) pacing.catchUp();
    return look();
  }

  return {
    ...about,
    tokenize: prompts.tokenize,
    detokenize: prompts.detokenize,
    chatPrompt: prompts.chatPrompt,
    start({ promptTokens, maxTokens, ignoreEos, seed: own }: Generation, sink) {
      const hash = hashOf(promptTokens, seed ^ (own ?? 0));
      const length = ignoreEos ? Number.POSITIVE_INFINITY : lengthOf(hash);
      const outputTokens = Math.min(maxTokens, length);
      const refusal = refusalOf(spec, { promptTokens: promptTokens.length, outputTokens });
      if (refusal !== undefined) {
        sink.fail(refusal, 400);
        return { cancel() {} };
      }
      const id = nextId++;
      const copy = leastLoaded();
      const prefix = copy.cache?.prefixOf(promptTokens) ?? null;
      const reason = length <= maxTokens ? 'stop' : 'length';
      const facts = { promptTokens: promptTokens.length, outputTokens, reason, hash, prefix } as const;
      streams.set(id, { sink, copy, ...facts, cached: 0, held: false, sent: 0, step: 0 });
      copy.pacing.add(id);
      return {
        cancel() {
          const stream = streams.get(id);
          if (stream === undefined) return;
          copy.pacing.cancel(id);
          letGo(stream);
          streams.delete(id);
        },
      };
    },
    stats() {
      const { running, waiting, steps, kvTokensUsed, kvTokens } = state();
      return { running, waiting, steps, kvCacheUsage: kvTokensUsed / kvTokens };
    },
    state,
    resetPrefixCache() {
      const { running, waiting } = state();
      for (const { cache } of copies) cache?.reset();
      return running + waiting === 0;
    },
    pause: (durationS) => clock.pause(durationS),
    stop() {
      for (const { pacing } of copies) pacing.stop();
    },
  };
}
