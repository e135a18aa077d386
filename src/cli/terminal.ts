import pc from 'picocolors';
import { InputError, messageOf, ServetuneError } from '../kit/errors.ts';
import { hideSecrets, secretsInEnvironment } from '../kit/secrets.ts';

/** Where a command speaks. Results go to standard output; progress and complaints to standard error. Secrets are left out. */
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
  const known = secretsInEnvironment(environment);
  const safe = (text: string): string => harmless(hideSecrets(text, known));
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
      stdout.write(`${safe(text)}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${clipped(safe(text))}\n`);
    },
    status(text) {
      if (!interactive) return;
      if (text === '') return clear();
      if (shown && performance.now() - drawnAt < redrawMs) return;
      drawnAt = performance.now();
      clear();
      stderr.write(fitted(safe(text), stderr.columns || 80));
      shown = true;
    },
  };
}

/** Longest line of a note: servers have sent megabytes as an error text. */
const longestNote = 4000;

const clipped = (text: string): string => (text.length > longestNote ? `${text.slice(0, longestNote)}…` : text);

/**
 * Text without what a terminal would obey: model names, error texts and logs come from others. Only colours are left;
 * escape sequences that move, erase or retitle, other control characters and changes of direction are shown as `�`.
 */
export const harmless = (text: string): string =>
  text.replace(/(\p{Cc})(\[\d{1,2}m)?|[\u202a-\u202e\u2066-\u2069]/gu, (found, control?: string, colour?: string) => {
    const kept = control === '\n' || control === '\t' || (control === '\u001b' && colour !== undefined);
    return kept ? found : `\ufffd${colour ?? ''}`;
  });

/** Most problems that are shown at once; a file of garbage has thousands. */
const mostProblems = 30;

/** Cut to one line of the terminal, so that it can be taken back. */
const fitted = (text: string, columns: number): string =>
  text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;

/** What went wrong, as lines for people: never a stack trace for what a user can mend. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof InputError) {
    const more = error.problems.length - mostProblems;
    return [
      ...error.problems
        .slice(0, mostProblems)
        .flatMap((p) => [
          `${pc.red('error')} ${p.place}: ${p.message}`,
          ...(p.hint === undefined ? [] : [`      ${pc.dim(p.hint)}`]),
        ]),
      ...(more > 0 ? [`      and ${more} more`] : []),
    ];
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
