import { en } from './en.ts';
import type { Messages } from './messages.ts';

/** Every language of a report. To add one: write its file beside this one, then name it here. */
export const languages = { en } as const satisfies Record<string, Messages>;

export type Language = keyof typeof languages;
