/** A JSON object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;
/** A `StreamEvent` while it is being read. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** A number of tokens; what is negative, broken or beyond all reason was not counted by anybody. */
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9;

/** The same of a prompt: none has 0 tokens, so a 0 is a field that nobody filled in. */
export const isPromptCount = (value: unknown): value is number => isCount(value) && value > 0;
