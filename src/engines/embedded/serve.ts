import { exitCodes, InputError, type Problem, ServetuneError } from '../../kit/errors.ts';
import { startServer } from '../../serving/server.ts';
import { type Llama, loadLlama, warmUp } from './llama.ts';
import { checkModelFile, modelFile } from './model/cache.ts';
import { coreCount, optionProblems, type ServeOptions } from './options.ts';
import { embeddedSource } from './source.ts';

export { serveOptions } from './options.ts';

export interface ServeHooks {
  /** Aborts to stop the server; its reason does not matter. */
  readonly signal: AbortSignal;
  /** Takes one line of the log. */
  readonly log: (line: string) => void;
  /** Where models are kept that were made here; `defaultCacheDir`. */
  readonly cacheDir: string;
  /** Of the process, to see how many workers libuv has. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called once requests are accepted. */
  readonly onReady?: (url: string) => void;
}

/** How long running requests may go on after the signal, seconds. */
const graceS = 1;

/**
 * Serves a model with llama.cpp, in this process, until the signal aborts; then resolves. A load that is under way then
 * goes on in its thread, so the caller should end the process and not wait for it to become idle.
 *
 * Throws an InputError (options or model file), or a ServetuneError: `port_in_use`, `cannot_listen`, `engine_missing`,
 * `model_load_failed`, `out_of_memory`, `context_failed`, and `engine_failed` when the model fails under way.
 */
export async function serveEmbedded(options: ServeOptions, hooks: ServeHooks): Promise<void> {
  const { signal, log } = hooks;
  const cores = coreCount();
  const problems: Problem[] = [...optionProblems(options, cores), ...checkModelFile(options.model)];
  if (problems.length > 0) throw new InputError(problems);

  // Listens before it loads: a port in use shows at once, and /health can say that the model is loading.
  const server = await startServer(options);
  try {
    const path = await modelFile(options.model, options.quantization, hooks.cacheDir, signal);
    log(`loading ${path}`);
    const llama = await loadLlama(path, options, cores, log, signal);
    await warmUp(llama);
    const oneWorker = hooks.env.UV_THREADPOOL_SIZE === '1';
    const failed = new Promise<never>((_, reject) => {
      const onFatal = (cause: unknown) => reject(engineFailed(cause));
      const source = embeddedSource(llama, { options, oneWorker, onFatal });
      logSettings(llama, source.settings, oneWorker, log);
      server.attach(source);
    });
    log(`listening on ${server.url}`);
    hooks.onReady?.(server.url);
    await Promise.race([failed, aborted(signal)]);
    log('stopping');
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await server.stop(signal.aborted ? graceS : 0);
  }
}

function logSettings(
  { model, version, contextSize }: Llama,
  settings: Readonly<Record<string, string>>,
  oneWorker: boolean,
  log: (line: string) => void,
): void {
  const weights = `${(model.getTotalParameters() / 1e6).toFixed(1)}M weights, ${(model.getTotalSize() / 1e6).toFixed(1)} MB`;
  log(
    `loaded ${model.getModelDescription().replace(' ?B', '')}: ${weights}, with llama.cpp of node-llama-cpp ${version}`,
  );
  const inForce = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  log(`settings: ${inForce.join(' ')} (KV cache of ${contextSize} tokens)`);
  if (!oneWorker && settings.threads !== '1') {
    log('note: faster with UV_THREADPOOL_SIZE=1 in the environment, since libuv moves the work between its threads');
  }
}

const engineFailed = (cause: unknown): ServetuneError =>
  new ServetuneError('engine_failed', `the engine cannot go on: ${cause instanceof Error ? cause.message : cause}`, {
    exitCode: exitCodes.failed,
    cause,
  });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
