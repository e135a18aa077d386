import { freemem, totalmem } from 'node:os';
import { constrainedMemory, platform } from 'node:process';
import { sleep } from '../../kit/clock.ts';
import { exitCodes, messageOf, ServetuneError } from '../../kit/errors.ts';
import { type Addon, type AddonContext, type AddonModel, findAddon, loadAddon, logLevels } from './addon.ts';
import { type GgufFile, metadataOf, readGguf } from './model/gguf.ts';
import { cacheTypeBytes, contextOptions, defaultContextLength, defaultThreads, type ServeOptions } from './options.ts';

/** A model in memory, with a context to compute in. */
export interface Llama {
  readonly addon: Addon;
  readonly model: AddonModel;
  readonly context: AddonContext;
  /** Of the package of binaries. */
  readonly version: string;
  readonly vocabSize: number;
  readonly chatTemplate: string | undefined;
  /** Longest prompt and answer of one request, tokens. */
  readonly contextLength: number;
  /** Of all sequences, tokens. */
  readonly contextSize: number;
  readonly batchSize: number;
  readonly threads: number;
  /** Undefined when llama.cpp chose and did not tell. */
  readonly flashAttention: boolean | undefined;
}

/** How long llama.cpp's own words about a failure are waited for, after the failure. */
const reasonWaitS = 1;

/**
 * Loads the GGUF file at `path` and makes a context for it. llama.cpp's warnings go to `log`.
 * Throws a ServetuneError: `engine_missing`, `model_load_failed`, `out_of_memory`, `context_failed`.
 */
export async function loadLlama(
  path: string,
  options: ServeOptions,
  cores: number,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<Llama> {
  const installation = findAddon();
  const lines = logLines(log);
  const addon = await loadAddon(installation, lines.take);
  signal.throwIfAborted();

  const model = new addon.AddonModel(path, { useMmap: true });
  if (!(await unlessAborted(model.init(), signal))) {
    throw new ServetuneError('model_load_failed', `llama.cpp cannot load ${path}: ${await lines.reason()}`, {
      hint: 'check that the file is whole and that this version of llama.cpp knows its architecture',
    });
  }

  const gguf = readGguf(path);
  const contextLength = options.context_length ?? Math.min(model.getTrainContextSize(), defaultContextLength);
  const threads = options.threads ?? defaultThreads(cores);
  checkMemory(gguf, options, contextLength);
  const wanted = contextOptions(options, contextLength, threads);
  const context = new addon.AddonContext(model, wanted);
  const made = await unlessAborted(context.init(), signal).catch((error) => {
    signal.throwIfAborted();
    lines.take(logLevels.error, messageOf(error));
    return false;
  });
  if (!made) {
    throw new ServetuneError('context_failed', `llama.cpp cannot make a context: ${await lines.reason()}`, {
      hint: 'ask for less: a shorter --context-length, a smaller --parallel or --batch-size, --cache-type f16',
    });
  }
  const flashAttention = wanted.flashAttention === 'auto' ? await lines.flashAttention() : wanted.flashAttention;
  addon.setLoggerLogLevel(logLevels.warning);

  const tokens = metadataOf(gguf, 'tokenizer.ggml.tokens');
  const template = metadataOf(gguf, 'tokenizer.chat_template');
  return {
    addon,
    model,
    context,
    version: installation.version,
    vocabSize: typeof tokens === 'object' ? tokens.length : 0,
    chatTemplate: typeof template === 'string' ? template : undefined,
    contextLength,
    contextSize: context.getContextSize(),
    batchSize: wanted.batchSize,
    threads: context.getThreads(),
    flashAttention,
  };
}

/** One pass through the model, so that the first request does not pay for reading the weights from disk. */
export async function warmUp({ context, model }: Llama): Promise<void> {
  context.initBatch(1);
  context.addToBatch(0, 0, Uint32Array.of(model.tokenEos() ?? 0), Uint32Array.of(0));
  await context.decodeBatch();
  context.disposeSequence(0);
}

/** llama.cpp's log while it loads. Its lines come later than the results that they explain. */
function logLines(log: (line: string) => void) {
  const errors: string[] = [];
  let flashAttention: boolean | undefined;
  const until = async (known: () => boolean) => {
    for (let waitedS = 0; !known() && waitedS < reasonWaitS; waitedS += 0.005) await sleep(0.005);
  };
  return {
    take(level: number, message: string): void {
      const line = message.trim();
      const chosen = /Flash Attention (enabled|.*disabled)/.exec(line);
      if (chosen) flashAttention = chosen[1] === 'enabled';
      if (line === '' || level > logLevels.warning) return;
      if (level <= logLevels.error) errors.push(line);
      log(`llama.cpp: ${line}`);
    },
    async reason(): Promise<string> {
      await until(() => errors.length > 0);
      // The lines come one by one; the last ones are the cause.
      await sleep(0.02);
      return errors.slice(-3).join('; ') || 'it gave no reason';
    },
    /** Undefined when it does not tell. */
    async flashAttention(): Promise<boolean | undefined> {
      await until(() => flashAttention !== undefined);
      return flashAttention;
    },
  };
}

/**
 * llama.cpp takes ten seconds to fail on a cache that is far too large, or fills the swap space; this is the same
 * sum beforehand: layers x KV heads x (width of a key + width of a value) x tokens x bytes of a number.
 */
function checkMemory(gguf: GgufFile, { parallel, cache_type }: ServeOptions, contextLength: number): void {
  const needBytes = cacheBytesPerToken(gguf, cacheTypeBytes(cache_type)) * contextLength * parallel;
  // macOS counts as free only what nobody has touched, a small part of what it would give.
  const machineBytes = platform === 'darwin' ? totalmem() : freemem();
  const freeBytes = Math.min(machineBytes, constrainedMemory() || Number.POSITIVE_INFINITY);
  if (needBytes <= freeBytes) return;
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new ServetuneError(
    'out_of_memory',
    `out of memory: the KV cache of ${parallel} x ${contextLength} tokens needs ${gigabytes(needBytes)}, ` +
      `${gigabytes(freeBytes)} are free`,
    {
      hint: 'ask for less: a shorter --context-length, a smaller --parallel, a quantized --cache-type',
      exitCode: exitCodes.badInput,
    },
  );
}

/** 0 where the file does not say; llama.cpp is left to judge then. */
function cacheBytesPerToken(gguf: GgufFile, bytesPerNumber: number): number {
  const architecture = metadataOf(gguf, 'general.architecture');
  const number = (key: string): number | undefined => {
    const value = metadataOf(gguf, `${String(architecture)}.${key}`);
    return typeof value === 'number' ? value : undefined;
  };
  const heads = number('attention.head_count') ?? 0;
  const width = heads > 0 ? (number('embedding_length') ?? 0) / heads : 0;
  const keyWidth = number('attention.key_length') ?? width;
  const valueWidth = number('attention.value_length') ?? width;
  const layers = number('block_count') ?? 0;
  return layers * (number('attention.head_count_kv') ?? heads) * (keyWidth + valueWidth) * bytesPerNumber;
}

/** Rejects at once with the signal's reason; the work goes on in its thread until the process ends. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}
