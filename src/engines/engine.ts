import type { z } from 'zod';
import type { Command } from '../hosts/host.ts';
import type { Problem } from '../kit/errors.ts';
import type { Settings } from '../records/settings.ts';
import type { Fate } from '../records/trial.ts';

/** How a known way to die shows in the log or in the message of a refusal, and what the user can do about it. */
export interface Symptom {
  readonly pattern: RegExp;
  readonly fate: Extract<Fate, 'start_failed' | 'out_of_memory' | 'unsupported_setting' | 'crashed_under_load'>;
  readonly hint: string;
  /** The port was taken by another program; servetune tries the next one. */
  readonly portTaken?: true;
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
  /** Combinations that cannot work, each with its reason; called with settings that passed the schema. */
  conflicts(settings: Settings, context: { readonly model: string; readonly concurrency: number }): readonly Problem[];
  /** Version that would be started, by asking the installation; throws an InputError with a remedy when there is none. */
  version(environment: Environment, signal: AbortSignal): Promise<string>;
  /** Problems with the model that can be seen without starting the engine: a missing file, a damaged one. */
  checkModel(model: string): Promise<readonly Problem[]>;
  /** Work that must not fall into a trial's start time, once before the study: write or download what `launches` need. */
  prepare?(launches: readonly Omit<Launch, 'port'>[], environment: Environment, signal: AbortSignal): Promise<void>;
  /** What a user would type to serve this, without anything that is only needed for measuring. */
  command(launch: Launch): Command;
  /** Added for measuring only: metrics on, a cache that can be reset. Kept apart so that reports can show it apart. */
  readonly measuring?: { readonly argv: readonly string[]; readonly env: Environment };
  /** Forgets cached prefixes, so that a load finds nothing of the load before it; absent where the engine keeps none. */
  resetCache?(baseUrl: URL, signal: AbortSignal): Promise<void>;
  /** Answers 200 once the engine accepts requests. */
  readonly healthPath: string;
  /** The settings in force, read back from the running engine; absent when it does not tell. */
  effectiveSettings?(baseUrl: URL, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  readonly symptoms: readonly Symptom[];
}

export const defineEngine = <S extends z.ZodObject>(engine: Engine<S>): Engine<S> => engine;
