import { messageOf } from '../../kit/errors.ts';
import type { Generation, SourceStats, TokenSink } from '../../serving/source.ts';
import type { AddonContext, AddonSampler } from './addon.ts';
import { type Piece, type TextStream, textStream } from './pieces.ts';

export interface BatchingOptions {
  readonly context: AddonContext;
  /** Sequences that llama.cpp keeps apart. */
  readonly slots: number;
  /** Most tokens in one step, at least `slots`. */
  readonly batchSize: number;
  /** Of all slots together, tokens. */
  readonly contextSize: number;
  /**
   * That libuv has one worker thread, so that samplings cannot run at the same time: llama.cpp sorts its outputs when
   * the first one is read.
   */
  readonly oneWorker: boolean;
  readonly piece: (token: number) => Piece;
  readonly isEnd: (token: number) => boolean;
  /** A sampler for the request; `used` is what the slot's last request sampled with. */
  readonly sampler: (generation: Generation, used: AddonSampler | undefined) => AddonSampler;
  /** The model can compute nothing more; every request has been failed. */
  readonly onFatal: (error: unknown) => void;
}

export interface Batching {
  start(generation: Generation, sink: TokenSink): { cancel(): void };
  stats(): SourceStats;
}

/** One request, from its start to its last token. */
interface Sequence {
  readonly generation: Generation;
  readonly sink: TokenSink;
  readonly text: TextStream;
  /** -1 while it waits for one. */
  slot: number;
  sampler: AddonSampler | undefined;
  /** Tokens in its part of the KV cache. */
  position: number;
  /** Of these, in the step that is being computed. */
  stepTokens: number;
  /** Place in the batch of the token that its next one is sampled from; -1 while more of the prompt is to be read. */
  place: number;
  /** The token sampled last, which the next step reads. */
  readonly last: Uint32Array;
  made: number;
  cancelled: boolean;
}

/** A sampled token on its way to the sink. */
interface Fresh {
  readonly sequence: Sequence;
  readonly token: number;
  readonly end: 'stop' | 'length' | undefined;
}

const noTokens = new Uint32Array(0);
const firstToken = Uint32Array.of(0);

/**
 * Continuous batching: every step reads one token of each sequence that generates, and as much of waiting prompts, in
 * the order of their coming, as the batch has room for. Requests beyond the number of slots wait.
 *
 * Tokens reach their sinks while the next step is already being computed, so that the server's work costs no time of
 * the model's.
 */
export function startBatching(options: BatchingOptions): Batching {
  const { context, slots, batchSize } = options;
  const bySlot: (Sequence | undefined)[] = Array.from({ length: slots }, () => undefined);
  const samplers: (AddonSampler | undefined)[] = Array.from({ length: slots }, () => undefined);
  /** Running sequences in the order in which they were admitted. */
  let running: Sequence[] = [];
  const queue: Sequence[] = [];
  let fresh: Fresh[] = [];
  let steps = 0;
  let dead: string | undefined;
  let wake: (() => void) | undefined;

  function release(sequence: Sequence): void {
    bySlot[sequence.slot] = undefined;
    running = running.filter((other) => other !== sequence);
    context.disposeSequence(sequence.slot);
  }

  /** Gives free slots to the requests that wait, lowest first: llama.cpp computes neighbours together. */
  function admit(): void {
    for (const sequence of running.filter(({ cancelled }) => cancelled)) release(sequence);
    for (let slot = 0; slot < slots && queue.length > 0; slot++) {
      if (bySlot[slot] !== undefined) continue;
      const sequence = queue.shift() as Sequence;
      sequence.slot = slot;
      sequence.sampler = samplers[slot] = options.sampler(sequence.generation, samplers[slot]);
      bySlot[slot] = sequence;
      running.push(sequence);
    }
  }

  /** Plans and fills the next batch; gives the sequences that get a token from it. */
  function fillBatch(): Sequence[] {
    let room = batchSize;
    for (const sequence of running) {
      sequence.stepTokens = isReading(sequence) ? 0 : 1;
      room -= sequence.stepTokens;
    }
    for (const sequence of running) {
      if (!isReading(sequence)) continue;
      sequence.stepTokens = Math.min(sequence.generation.promptTokens.length - sequence.position, room);
      room -= sequence.stepTokens;
    }
    context.initBatch(batchSize - room);
    const sampled: Sequence[] = [];
    // By slot, whatever is generated or read: llama.cpp computes sequences of consecutive numbers in one pass.
    for (const sequence of bySlot) {
      if (sequence === undefined || sequence.stepTokens === 0) continue;
      addToBatch(context, sequence);
      if (sequence.place >= 0) sampled.push(sequence);
    }
    return sampled;
  }

  function settle(sequence: Sequence, token: number): void {
    sequence.made++;
    sequence.last[0] = token;
    const { maxTokens, ignoreEos } = sequence.generation;
    const end = !ignoreEos && options.isEnd(token) ? 'stop' : sequence.made >= maxTokens ? 'length' : undefined;
    fresh.push({ sequence, token, end });
    if (end !== undefined) release(sequence);
  }

  function deliver(): void {
    const tokens = fresh;
    fresh = [];
    for (const { sequence, token, end } of tokens) {
      if (sequence.cancelled) continue;
      let text = end === 'stop' ? '' : sequence.text.push(options.piece(token));
      if (end !== undefined) text += sequence.text.rest();
      sequence.sink.token(text);
      // The sink may have cancelled it just now: a stop string.
      if (end !== undefined && !sequence.cancelled) sequence.sink.end(end);
    }
  }

  async function sample(sequences: Sequence[]): Promise<void> {
    const tokenOf = (s: Sequence) => context.sampleToken(s.place, s.sampler as AddonSampler);
    const [first, ...others] = sequences;
    if (first === undefined) return;
    const tokens = options.oneWorker
      ? await Promise.all(sequences.map(tokenOf))
      : [await tokenOf(first), ...(await Promise.all(others.map(tokenOf)))];
    for (const [i, sequence] of sequences.entries()) {
      const token = tokens[i] as number;
      if (token < 0) failOne(sequence, 'the model gave no token that could be chosen');
      else settle(sequence, token);
    }
  }

  function failOne(sequence: Sequence, message: string): void {
    if (sequence.slot >= 0) release(sequence);
    if (!sequence.cancelled) sequence.sink.fail(message);
    sequence.cancelled = true;
  }

  /** True when the engine can go on with other requests. */
  function recover(error: unknown): boolean {
    deliver();
    const message = `the model failed: ${messageOf(error)}`;
    const affected = [...running];
    for (const sequence of affected) {
      try {
        failOne(sequence, message);
      } catch {
        // Its part of the cache cannot be cleared; whether that matters is decided below.
      }
    }
    if (/could not find a KV slot/.test(message)) return true;
    dead = message;
    for (const sequence of queue.splice(0)) failOne(sequence, message);
    options.onFatal(error);
    return false;
  }

  async function run(): Promise<void> {
    for (;;) {
      admit();
      if (running.length === 0) {
        deliver();
        // A sink may have cancelled or started something.
        if (queue.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
        }
        continue;
      }
      try {
        const sampled = fillBatch();
        const computed = context.decodeBatch();
        steps++;
        deliver();
        await computed;
        for (const sequence of running) sequence.position += sequence.stepTokens;
        await sample(sampled.filter(({ cancelled }) => !cancelled));
      } catch (error) {
        if (!recover(error)) return;
      }
    }
  }

  void run();

  return {
    start(generation, sink) {
      const sequence: Sequence = {
        generation,
        sink,
        text: textStream(),
        slot: -1,
        sampler: undefined,
        position: 0,
        stepTokens: 0,
        place: -1,
        last: new Uint32Array(1),
        made: 0,
        cancelled: false,
      };
      if (dead !== undefined) {
        sink.fail(dead, 503);
      } else {
        queue.push(sequence);
        wake?.();
      }
      return {
        cancel() {
          sequence.cancelled = true;
          const at = queue.indexOf(sequence);
          if (at >= 0) queue.splice(at, 1);
        },
      };
    },
    stats: () => ({
      running: running.length,
      waiting: queue.length,
      steps,
      kvCacheUsage: running.reduce((sum, { position }) => sum + position, 0) / options.contextSize,
    }),
  };
}

/** That part of the prompt is not in the cache yet. */
const isReading = ({ position, generation }: Sequence): boolean => position < generation.promptTokens.length;

function addToBatch(context: AddonContext, sequence: Sequence): void {
  const { slot, position, stepTokens, generation, last } = sequence;
  if (!isReading(sequence)) {
    sequence.place = context.addToBatch(slot, position, last, firstToken)[0] ?? -1;
    return;
  }
  const end = position + stepTokens;
  const isLast = end === generation.promptTokens.length;
  const logits = isLast ? Uint32Array.of(stepTokens - 1) : noTokens;
  const places = context.addToBatch(slot, position, generation.promptTokens.subarray(position, end), logits);
  sequence.place = places[0] ?? -1;
}
