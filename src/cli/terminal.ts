import pc from 'picocolors';
import { InputError, messageOf, ServetuneError } from '../kit/errors.ts';

/** Where a command speaks. Results go to standard output; progress and complaints to standard error. */
export interface Terminal {
  readonly signal: AbortSignal;
  /** What engines are started in. */
  readonly environment: Readonly<Record<string, string>>;
  /** A line of the result. */
  print(text: string): void;
  /** A line that stays, for people. */
  note(text: string): void;
  /** The one line that changes; on something that is not a terminal it is not shown. */
  status(text: string): void;
  readonly interactive: boolean;
}

/** Least time between two redraws of the status line. */
const redrawMs = 100;

export function openTerminal(signal: AbortSignal, environment: Readonly<Record<string, string>>): Terminal {
  const { stdout, stderr } = process;
  const interactive = stderr.isTTY === true;
  let shown = false;
  let drawnAt = 0;
  const clear = (): void => {
    if (shown) stderr.write('\r\u001b[2K');
    shown = false;
  };
  return {
    signal,
    environment,
    interactive,
    print(text) {
      clear();
      stdout.write(`${text}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${text}\n`);
    },
    status(text) {
      if (!interactive) return;
      if (text === '') return clear();
      if (shown && performance.now() - drawnAt < redrawMs) return;
      drawnAt = performance.now();
      clear();
      stderr.write(fitted(text, stderr.columns || 80));
      shown = true;
    },
  };
}

/** Cut to one line of the terminal, so that it can be taken back. */
const fitted = (text: string, columns: number): string =>
  text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;

/** What went wrong, as lines for people: never a stack trace for what a user can mend. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof InputError) {
    return error.problems.flatMap((p) => [
      `${pc.red('error')} ${p.place}: ${p.message}`,
      ...(p.hint === undefined ? [] : [`      ${pc.dim(p.hint)}`]),
    ]);
  }
  if (error instanceof ServetuneError) {
    return [
      `${pc.red('error')} ${error.message}`,
      ...(error.hint === undefined ? [] : [`      ${pc.dim(error.hint)}`]),
    ];
  }
  return [
    `${pc.red('error')} ${messageOf(error)}`,
    '      this is a fault of servetune itself; SERVETUNE_DEBUG=1 shows where',
  ];
}
