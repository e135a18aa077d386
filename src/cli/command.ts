import type { z } from 'zod';
import type { ExitCode, Problem } from '../kit/errors.ts';
import type { Terminal } from './terminal.ts';

/** A heading of `--help` with the options that stand under it. */
export interface OptionGroup {
  readonly title: string;
  readonly keys: readonly string[];
  /** A sentence under the heading. */
  readonly about?: string;
}

/** A command as the overview knows it. Its file is loaded when it is called: engines start through one of them. */
export interface CommandEntry {
  /** As typed: `tune`, `bench serve`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** One command: its options as a schema, and what it does with them. */
export interface Command<S extends z.ZodObject = z.ZodObject> {
  /** As typed: `tune`, `bench serve`. */
  readonly name: string;
  /** What a newcomer should know, in a few lines; an empty line begins a new paragraph. */
  readonly about: string;
  /** A positional argument; its key in `options`, where an array takes all of them, and whether it may be left out. */
  readonly positional?: { readonly key: string; readonly label: string; readonly optional: boolean };
  /** Keys with `_`; the flags have `-`. */
  readonly options: S;
  /** Keys of lists of which every mention on the command line counts, not only the last. */
  readonly repeatable?: readonly string[];
  readonly groups?: readonly OptionGroup[];
  /** Command lines with what they do. */
  readonly examples: readonly (readonly [command: string, what: string])[];
  /**
   * What is wrong with the options together, so that it is told in one go with what is wrong with each. `unreadable`
   * holds the keys whose values could not be read and stand at their default here.
   */
  check?(options: z.infer<S>, unreadable: ReadonlySet<string>): readonly Problem[];
  run(options: z.infer<S>, terminal: Terminal): Promise<ExitCode>;
}

export const defineCommand = <S extends z.ZodObject>(command: Command<S>): Command => command as unknown as Command;
