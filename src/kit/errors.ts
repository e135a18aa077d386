/** What `servetune` ends with. The meanings are part of the product: scripts depend on them. */
export const exitCodes = {
  done: 0,
  /** The tool itself failed. */
  failed: 1,
  /** The input is wrong; every problem was named, with its place and remedy. */
  badInput: 2,
  /** The measurement is invalid, or a check found something. */
  invalidMeasurement: 3,
  /** Slower than the threshold that was asked for. */
  slower: 4,
  /** No configuration qualified. */
  noneQualified: 5,
  /** Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * An error that a user can act on. `code` is stable and greppable (`port_in_use`), `hint` says what would mend it,
 * `exitCode` what the command line ends with. Only `cli/` prints errors and exits.
 */
export class ServetuneError extends Error {
  override readonly name: string = 'ServetuneError';
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, more: { hint?: string; exitCode?: ExitCode; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint;
    this.exitCode = more.exitCode ?? exitCodes.failed;
  }
}

/** One thing that is wrong with an input: where, what, and how to mend it. */
export interface Problem {
  /** For people: `study.yaml:12:5 stages[0].name`, `--num-prompts`. */
  readonly place: string;
  readonly message: string;
  readonly hint?: string;
}

/** Everything that is wrong with an input, at once. Exit code 2. */
export class InputError extends ServetuneError {
  override readonly name = 'InputError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super('bad_input', problems.map((p) => `${p.place}: ${p.message}`).join('\n'), { exitCode: exitCodes.badInput });
    this.problems = problems;
  }
}

/** The user asked us to stop (Ctrl-C, SIGTERM). Exit code 130. */
export class Interrupted extends ServetuneError {
  override readonly name = 'Interrupted';
  constructor(message = 'interrupted') {
    super('interrupted', message, { exitCode: exitCodes.interrupted });
  }
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The system's code (`ENOENT`, `ENOSPC`) of anything that was thrown, if it has one. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
