import type { Ending } from './ending.ts';
import type { ProcessIdentity } from './tree.ts';

/** How a program ended: `code` or `signal`, the other is null; both are null when nobody could see it end. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The watchdog was killed, so we ended the program: its end says nothing about it. */
  readonly watchdogLost?: true;
}

export interface Ended extends Ending {
  readonly exit: Exit;
}

/** What is to be started. Travels over the channel, not on a command line where all users could read it. */
export interface StartOrder {
  readonly kind: 'start';
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly outputPath: string | undefined;
  /** In the environment of the program, and so of all that it starts (`mark.ts`). */
  readonly mark: string | undefined;
}

/** From the owner to the watchdog. */
export type Order = StartOrder | { readonly kind: 'end'; readonly graceS: number };

/** From the watchdog to the owner. */
export type Notice =
  | ({ readonly kind: 'started' } & ProcessIdentity)
  | { readonly kind: 'not_started'; readonly systemCode: string | null; readonly message: string }
  | { readonly kind: 'members'; readonly members: readonly ProcessIdentity[] }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'ended'; readonly ended: Ended };
