/** `problem`: it would stop a study or falsify it. `note`: worth knowing. */
export type Mark = 'ok' | 'note' | 'problem';

/** One thing that was looked at. */
export interface Finding {
  readonly mark: Mark;
  /** What was looked at, in a few words. */
  readonly what: string;
  readonly message: string;
  /** What would mend it; every problem has one. */
  readonly hint?: string;
}

export const ok = (what: string, message: string): Finding => ({ mark: 'ok', what, message });

export const note = (what: string, message: string, hint?: string): Finding => ({
  mark: 'note',
  what,
  message,
  ...(hint === undefined ? {} : { hint }),
});

export const problem = (what: string, message: string, hint: string): Finding => ({
  mark: 'problem',
  what,
  message,
  hint,
});
