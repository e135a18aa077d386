import { type OpenAiServer, startServer } from '../../serving/server.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Deployment, Simulable } from '../deployment.ts';
import { simulatedClock } from './clock.ts';
import { createFailures, type Failure } from './failures.ts';
import { createIterations } from './iterations.ts';
import { countedPrompts, guessedPrompts } from './prompts.ts';
import { simulatedRoutes } from './routes.ts';
import { settingsInForce, sglangServerInfo, vllmServerInfo } from './settings.ts';
import { type SimulatedSource, simulatedSource } from './source.ts';

/** A simulated engine to be served: everything checked. */
export interface SimulatedServing {
  readonly deployment: Deployment;
  readonly simulable: Simulable;
  /** What the model was taken from: a name or a folder. */
  readonly model: string;
  readonly servedModelName: string;
  /** Null: tokens of prompts are guessed. */
  readonly tokenizer: Tokenizer | null;
  /** Simulated seconds in one real second. */
  readonly timeScale: number;
  readonly seed: number;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly failures: readonly Failure[];
}

export interface ServingHooks {
  /** Aborts to stop the server; its reason does not matter. */
  readonly signal: AbortSignal;
  /** Takes one line of the log. */
  readonly log: (line: string) => void;
  /** Ends the process at once, for a failure that was asked for. */
  readonly die: (failure: string) => void;
}

/** How long running requests may go on after the signal, seconds. */
const graceS = 1;

/** Longest prompt and answer together: as asked for, and as the KV cache holds. */
export function contextOf({ configuration, shape }: Deployment, { spec }: Simulable): number {
  const { context_length: asked } = configuration.settings;
  const longest = typeof asked === 'number' ? Math.min(asked, shape.maxPositions) : shape.maxPositions;
  return Math.min(longest, spec.options.kvTokens);
}

/**
 * Serves a simulated engine over HTTP until the signal aborts; then resolves. Throws a ServetuneError `port_in_use` or
 * `cannot_listen`.
 */
export async function serveSimulated(serving: SimulatedServing, hooks: ServingHooks): Promise<void> {
  const { signal, log } = hooks;
  // Every answer is marked; clients that measure look for the first two.
  const headers = {
    'x-servetune-simulated': 'true',
    'x-servetune-time-scale': String(serving.timeScale),
    'x-servetune-prompt-tokens': serving.tokenizer === null ? 'guessed' : 'counted',
  };
  const server = await startServer({ host: serving.host, port: serving.port, headers });
  const source = attach(server, serving, hooks);
  try {
    log(`listening on ${server.url}`);
    await aborted(signal);
    log('stopping');
  } finally {
    source.stop();
    await server.stop(signal.aborted ? graceS : 0);
  }
}

function attach(server: OpenAiServer, serving: SimulatedServing, { log, die }: ServingHooks): SimulatedSource {
  const { deployment, simulable, model, tokenizer, seed } = serving;
  const { configuration, shape } = deployment;
  const { engine, version } = configuration;
  const maxModelLen = contextOf(deployment, simulable);
  const force = settingsInForce(deployment, simulable, maxModelLen);
  const { blockTokens } = simulable.spec.options;
  const drafting = simulable.drafts !== null;
  const prompts = tokenizer === null ? guessedPrompts(shape.vocabularySize) : countedPrompts(tokenizer);
  const iterations = engine === 'tensorrt-llm' ? createIterations(blockTokens, drafting) : null;
  const source = simulatedSource({
    simulable,
    clock: simulatedClock(serving.timeScale),
    prompts,
    prefixCaching: configuration.settings.prefix_caching !== false,
    seed,
    about: {
      modelName: serving.servedModelName,
      maxModelLen,
      trainContext: shape.maxPositions,
      vocabSize: vocabularyOf(shape.vocabularySize, tokenizer),
      version: version === undefined ? 'simulated' : `${version}+simulated`,
      settings: force,
    },
    ...(iterations === null ? {} : { onStep: ({ startS, endS }, state) => iterations.add(state(), startS, endS) }),
  });
  const failures = createFailures();
  failures.plan(serving.failures);
  const { gpu_memory_fraction: fraction } = configuration.settings;
  const serverInfo =
    engine === 'vllm'
      ? vllmServerInfo(model, configuration, force)
      : sglangServerInfo(model, configuration, force, typeof fraction === 'number' ? fraction : null);
  server.attach(
    source,
    simulatedRoutes({
      engine,
      root: model,
      source,
      blockTokens,
      drafting,
      serverInfo,
      iterations,
      failures,
      die,
      log,
    }),
  );
  return source;
}

/** Padding and added tokens that a model has beyond the vocabulary of its tokenizer, at most. */
const mostAdded = 4096;

/** The model's, unless the tokenizer is that of another one. */
const vocabularyOf = (ofModel: number, tokenizer: Tokenizer | null): number =>
  tokenizer === null || Math.abs(ofModel - tokenizer.vocabSize) <= mostAdded ? ofModel : tokenizer.vocabSize;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
