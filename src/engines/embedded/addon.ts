import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../../kit/errors.ts';

/**
 * What is used of llama.cpp's addon. It is the internal API of `node-llama-cpp`, which may change with any of its
 * versions: package.json pins the packages exactly.
 */
export interface Addon {
  readonly AddonModel: new (path: string, options: { useMmap: boolean }) => AddonModel;
  readonly AddonContext: new (model: AddonModel, options: AddonContextOptions) => AddonContext;
  readonly AddonSampler: new (model: AddonModel) => AddonSampler;
  readonly AddonJinjaRenderer: new (template: string) => { render(values: Record<string, unknown>): string };
  /** True when this process had loaded it before. */
  markLoaded(): boolean;
  /** Without a folder: what is linked in. With one: also the variants for this processor that lie there. */
  loadBackends(folder?: string): void;
  init(): Promise<void>;
  /** Lines come asynchronously, also after the call that caused them has returned. */
  setLogger(logger: (level: number, message: string) => void): void;
  setLoggerLogLevel(level: number): void;
}

export interface AddonModel {
  /** False when it cannot be loaded; the reason comes through the logger, later. */
  init(): Promise<boolean>;
  tokenize(text: string, parseSpecialTokens: boolean): Uint32Array;
  detokenize(tokens: Uint32Array, showSpecialTokens: boolean): string;
  getTrainContextSize(): number;
  /** Architecture, size and file type: `qwen3 ?B Q8_0`. */
  getModelDescription(): string;
  getTotalParameters(): number;
  getTotalSize(): number;
  /** Null where there is none. */
  tokenBos(): number | null;
  tokenEos(): number | null;
  /** The vocabulary's own spelling, not yet text. */
  getTokenString(token: number): string;
  getTokenAttributes(token: number): number;
  isEogToken(token: number): boolean;
  getVocabularyType(): number;
  shouldPrependBosToken(): boolean;
}

export interface AddonContextOptions {
  /** Of all sequences together, tokens. */
  readonly contextSize: number;
  /** Sets llama.cpp's logical and physical batch alike. */
  readonly batchSize: number;
  readonly sequences: number;
  readonly flashAttention: boolean | 'auto';
  readonly threads: number;
  /** Numbers of ggml's types. */
  readonly kvCacheKeyType: number;
  readonly kvCacheValueType: number;
}

export interface AddonContext {
  init(): Promise<boolean>;
  getContextSize(): number;
  getThreads(): number;
  /** Begins a batch of at most `size` tokens, and forgets the last one. */
  initBatch(size: number): void;
  /** Gives the places in the batch of those tokens whose index is in `logitIndexes`. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logitIndexes: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  /** -1 when no token is left to choose. */
  sampleToken(place: number, sampler: AddonSampler): Promise<number>;
  disposeSequence(sequence: number): void;
}

export interface AddonSampler {
  applyConfig(config: {
    temperature: number;
    topP?: number;
    seed?: number;
    tokenBiasKeys?: Uint32Array;
    tokenBiasValues?: Float32Array;
  }): void;
  dispose(): void;
}

/** Levels of the addon's logger; larger ones are chattier. */
export const logLevels = { error: 2, warning: 3, info: 4 } as const;

/** The package of prebuilt binaries for a platform, or undefined where there is none. */
function packageFor(platform: string, arch: string): string | undefined {
  const known: Record<string, string> = {
    'linux-x64': 'linux-x64',
    'linux-arm64': 'linux-arm64',
    'darwin-x64': 'mac-x64',
    'darwin-arm64': 'mac-arm64-metal',
  };
  return known[`${platform}-${arch}`];
}

interface Installation {
  readonly version: string;
  /** Folder of the addon and the libraries that it loads. */
  readonly folder: string;
}

/**
 * Finds llama.cpp's binaries for this machine, without loading them. Throws a ServetuneError `engine_missing`.
 * Synchronous on purpose: the first asynchronous file access would start libuv's pool.
 */
export function findAddon(platform: string = process.platform, arch: string = process.arch): Installation {
  const name = packageFor(platform, arch);
  if (name === undefined) {
    throw new ServetuneError('engine_missing', `the embedded engine has no binaries for ${platform} on ${arch}`, {
      hint: 'run servetune on Linux or macOS (x64 or arm64), or tune another engine',
      exitCode: exitCodes.badInput,
    });
  }
  try {
    const main = createRequire(import.meta.url).resolve(`@node-llama-cpp/${name}`);
    const root = join(dirname(main), '..');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const folder = join(root, 'bins', name);
    if (!existsSync(join(folder, 'llama-addon.node'))) throw new Error(`${folder} holds no llama-addon.node`);
    return { version, folder };
  } catch (error) {
    throw new ServetuneError('engine_missing', `the package @node-llama-cpp/${name} is not installed`, {
      hint: 'install servetune again with its optional dependencies: npm install --include=optional',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
}

/**
 * Loads llama.cpp into this process, with the variant for this processor. Lines of its log go to `log`, whenever they
 * come. Throws a ServetuneError `engine_missing` when the system's C library is too old for the binaries.
 */
export async function loadAddon(
  { folder }: Installation,
  log: (level: number, message: string) => void,
): Promise<Addon> {
  const addon = openAddon(join(folder, 'llama-addon.node'));
  addon.markLoaded();
  addon.setLogger(log);
  addon.setLoggerLogLevel(logLevels.info);
  addon.loadBackends();
  addon.loadBackends(folder);
  await addon.init();
  return addon;
}

function openAddon(path: string): Addon {
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (error) {
    const old = /GLIBC(XX)?_[\d.]+' not found/.exec(messageOf(error));
    throw new ServetuneError('engine_missing', `llama.cpp's binaries cannot be loaded: ${messageOf(error)}`, {
      hint:
        old || systemCode(error) === 'ERR_DLOPEN_FAILED'
          ? 'they need glibc 2.34 or newer (Debian 12, Ubuntu 22.04, RHEL 9)'
          : 'install servetune again with its optional dependencies: npm install --include=optional',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
}
