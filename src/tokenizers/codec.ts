/** One text at a time, on this thread. `encode` adds no special tokens; neither sees an empty text or list. */
export interface Codec {
  encode(text: string): number[];
  decode(ids: readonly number[]): string;
}
