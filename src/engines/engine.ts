import type { z } from 'zod';
import type { Command } from '../hosts/host.ts';
import type { BoundedAnswer } from '../kit/bounded-answer.ts';
import { type Problem, ServetuneError } from '../kit/errors.ts';
import type { RunResult } from '../processes/run.ts';
import type { Counters } from '../records/counters.ts';
import type { Gpu } from '../records/gpu.ts';
import type { ModelShape } from '../records/model-shape.ts';
import type { Settings } from '../records/settings.ts';
import type { CompileCache, Fate } from '../records/trial.ts';
import type { Mapping } from './mapping.ts';

/** How a known way to die shows in the log or in the message of a refusal, and what the user can do about it. */
export interface Symptom {
  readonly pattern: RegExp;
  readonly fate: Extract<Fate, 'start_failed' | 'out_of_memory' | 'unsupported_setting' | 'crashed_under_load'>;
  readonly hint: string;
  /** The port was taken by another program; servetune tries the next one. */
  readonly portTaken?: true;
  /** A setting that would have worked, read from the line that matched: `the estimated maximum model length is N`. */
  readonly corrected?: (match: RegExpExecArray) => Settings | undefined;
}

/** What an engine needs to know to be started. */
export interface Launch {
  readonly model: string;
  /** On loopback; free when it was chosen. */
  readonly port: number;
  readonly settings: Settings;
  /** Of the engine: one setting may be another flag in another version. */
  readonly version?: string;
}

/** The environment that engines are started in: what a shell would give them. */
export type Environment = Readonly<Record<string, string>>;

/** Runs a command of the engine to its end where the engine would run, as its host says. */
export type Ask = (argv: readonly string[], timeoutS: number) => Promise<RunResult>;

/** What is known of the place where a configuration would run; absent is not known. */
export interface Facts {
  readonly model: string;
  readonly version?: string;
  /** Most requests that a workload keeps in flight. */
  readonly concurrency: number;
  /** The GPUs that the engine may use; empty where there are none. */
  readonly gpus?: readonly Gpu[];
  readonly shape?: ModelShape;
}

/** A line of the log by which a part of the start shows: it begins with that line. */
export interface StartPart {
  readonly part: 'loading' | 'compiling' | 'capturing' | 'warming up';
  readonly pattern: RegExp;
}

/** Lines of the log by which an engine tells whether it found its compiled graphs in its cache. */
export interface CompileCachePatterns {
  /** Some graph was compiled: one such line is enough. */
  readonly cold: RegExp;
  /** Graphs were taken from the cache. */
  readonly warm: RegExp;
}

/** What a log tells of the cache; undefined where it tells nothing. */
export function compileCacheIn(
  log: readonly string[],
  patterns: CompileCachePatterns | undefined,
): CompileCache | undefined {
  if (patterns === undefined) return undefined;
  if (log.some((line) => patterns.cold.test(line))) return 'cold';
  return log.some((line) => patterns.warm.test(line)) ? 'warm' : undefined;
}

/** One inference server: how to start it and how to read it. Everything else is the study's work. */
export interface Engine<S extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** One line for `--help`. */
  readonly description: string;
  /**
   * The settings that it has, under engine-neutral names (`records/settings.ts`), all optional: absent means the
   * engine's own default, so an empty object means "as shipped".
   */
  readonly settings: S;
  /** How they are said to it; absent where `command` says them itself. */
  readonly mapping?: Mapping;
  /** What cannot work, each with its reason; called with settings that passed the schema. */
  conflicts(settings: Settings, facts: Facts): readonly Problem[];
  /** Version that would be started, by asking the installation; throws an InputError with a remedy when there is none. */
  version(ask: Ask): Promise<string>;
  /** The command that prints all of its flags; absent: nothing can be looked up. */
  readonly help?: readonly string[];
  /** What `uv` installs to get that version; absent: it is not to be had from PyPI. */
  packages?(version: string): readonly string[];
  /** The container image of that version; absent: there is none. */
  image?(version: string): string;
  /** Problems with the model that can be seen without starting the engine: a missing file, a damaged one. */
  checkModel(model: string): Promise<readonly Problem[]>;
  /** The checkpoint that settings stand for (`-FP8`); absent: always the study's model. */
  checkpoint?(model: string, settings: Settings): string;
  /** Work that must not fall into a trial's start time, once before the study: write or download what `launches` need. */
  prepare?(launches: readonly Omit<Launch, 'port'>[], environment: Environment, signal: AbortSignal): Promise<void>;
  /** What a user would type to serve this, without anything that is only needed for measuring. */
  command(launch: Launch): Command;
  /** Added for measuring only: metrics on, a cache that can be reset. Kept apart so that reports can show it apart. */
  measuring?(launch: Launch): Command;
  /** Variables that it reads in silence, so that one in the user's shell would change every trial: not passed on. */
  readonly silentVariables?: RegExp;
  /**
   * Forgets cached prefixes, so that a load finds nothing of the load before it; absent where the engine keeps none.
   * Throws a ServetuneError `cache_not_reset` with what was answered, and `no_answer`.
   */
  resetCache?(baseUrl: URL, signal: AbortSignal): Promise<void>;
  /** Answers 200 once the engine accepts requests. */
  readonly healthPath: string;
  /** The settings in force, read back from the running engine; absent when it does not tell. */
  effectiveSettings?(baseUrl: URL, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Settings in force that it tells in its log only: KV cache size, attention backend. */
  settingsInLog?(log: readonly string[]): Readonly<Record<string, string>>;
  readonly counters?: Counters;
  readonly startParts?: readonly StartPart[];
  /** Absent where its log does not tell. */
  readonly compileCache?: CompileCachePatterns;
  readonly symptoms: readonly Symptom[];
  /** What is worth trying on such GPUs, when nobody has said what to try. */
  defaultStages?(facts: Facts): readonly DefaultStage[];
}

/** Alternatives that decide one thing, on top of what was chosen before. */
export interface DefaultStage {
  readonly name: string;
  readonly alternatives: readonly Settings[];
}

/** Longest that an engine may take to forget its cached prefixes, seconds. */
export const resetTimeoutS = 30;

/** What was asked and what was answered, in place of a cache that is empty. */
export const cacheNotReset = (url: URL, { status, text }: BoundedAnswer, hint: string): ServetuneError =>
  new ServetuneError('cache_not_reset', `POST ${url} answered ${status} ${text.slice(0, 200)}`.trim(), { hint });

export const defineEngine = <S extends z.ZodObject>(engine: Engine<S>): Engine<S> => engine;
