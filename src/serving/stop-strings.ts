/** Looks for the first of some texts in a stream of pieces. */
export interface StopStrings {
  /** Takes the next piece; gives the text that is now certain to be part of the answer, and whether it ends here. */
  push(piece: string): { readonly text: string; readonly stopped: boolean };
  /** What was held back because it could have become a stop string. */
  rest(): string;
}

/**
 * Finds `stops` also where one spans several pieces: a tail that is the beginning of one is held back until it is
 * decided. The stop string itself, and what follows it, is not part of the answer; of several, the earliest counts.
 */
export function stopStrings(stops: readonly string[]): StopStrings {
  let held = '';
  return {
    push(piece) {
      const text = held + piece;
      let at = -1;
      for (const stop of stops) {
        const found = text.indexOf(stop);
        if (found >= 0 && (at < 0 || found < at)) at = found;
      }
      if (at >= 0) {
        held = '';
        return { text: text.slice(0, at), stopped: true };
      }
      const keep = heldBack(text, stops);
      held = text.slice(text.length - keep);
      return { text: text.slice(0, text.length - keep), stopped: false };
    },
    rest() {
      const text = held;
      held = '';
      return text;
    },
  };
}

/** Length of the longest end of `text` that is a beginning of one of `stops`. */
function heldBack(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let n = Math.min(stop.length - 1, text.length); n > longest; n--) {
      if (text.endsWith(stop.slice(0, n))) {
        longest = n;
        break;
      }
    }
  }
  return longest;
}
