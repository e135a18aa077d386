import type { TokenSink } from '../../../src/serving/source.ts';
import type { Simulable } from '../../../src/simulator/deployment.ts';
import { simulatedClock } from '../../../src/simulator/serving/clock.ts';
import { guessedPrompts } from '../../../src/simulator/serving/prompts.ts';
import { type SimulatedSource, simulatedSource } from '../../../src/simulator/serving/source.ts';

/** What came of one request, in simulated seconds. */
export interface Got {
  readonly id: number;
  /** Time and number of tokens of each event. */
  readonly events: (readonly [atS: number, tokens: number])[];
  text: string;
  cached: number | undefined;
  reason: string | undefined;
  failed: string | undefined;
  endS: number | undefined;
  cancel(): void;
}

export interface Driven {
  readonly source: SimulatedSource;
  /** Moves the clock, and works off what is due. */
  goTo(atS: number): void;
  /** A request arrives now. */
  ask(prompt: ArrayLike<number>, maxTokens: number, ignoreEos?: boolean): Got;
}

/** A simulated engine on a clock that the test moves. */
export function driven(simulable: Simulable, { prefixCaching = false, seed = 0 } = {}): Driven {
  let realS = 0;
  /** Those that were told something in the step that just ended. */
  let told: (() => void)[] = [];
  let endS = 0;
  let count = 0;
  const source = simulatedSource({
    simulable,
    clock: simulatedClock(1, () => realS),
    prompts: guessedPrompts(1000),
    prefixCaching,
    seed,
    burstMs: 0,
    about: { modelName: 'm', maxModelLen: 40960, trainContext: 40960, vocabSize: 1000, version: 'v', settings: {} },
    onStep(event) {
      endS = event.endS;
      for (const one of told) one();
      told = [];
    },
  });
  const catchUp = (): void => {
    while (source.state().behindS > 0);
  };
  return {
    source,
    goTo(atS) {
      realS = atS;
      catchUp();
    },
    ask(prompt, maxTokens, ignoreEos = true) {
      const got: Got = {
        id: count++,
        events: [],
        text: '',
        cached: undefined,
        reason: undefined,
        failed: undefined,
        endS: undefined,
        cancel: () => running.cancel(),
      };
      const sink: TokenSink = {
        token(text, tokens = 1) {
          got.text += text;
          told.push(() => got.events.push([endS, tokens]));
        },
        cached(tokens) {
          got.cached = tokens;
        },
        end(reason) {
          got.reason = reason;
          told.push(() => {
            got.endS = endS;
          });
        },
        fail(message) {
          got.failed = message;
        },
      };
      const common = { ignoreEos, temperature: 0, topP: 1, seed: undefined };
      const running = source.start({ promptTokens: Uint32Array.from(prompt), maxTokens, ...common }, sink);
      return got;
    },
  };
}

/** A prompt that begins like no other. */
export const prompt = (id: number, tokens: number): number[] => Array.from({ length: tokens }, (_, i) => id * 7919 + i);
