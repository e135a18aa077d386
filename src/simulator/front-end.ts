/**
 * The front end of an engine: one event loop that every request passes before the scheduler sees it. It works on all of
 * them by turns, as each awaits something between its steps, so a burst comes out together when all of it is through. In
 * other words processor sharing, which for requests of equal cost keeps their order.
 *
 * That is what published bursts show of vLLM (no first token before all of 1000 requests are through). Of SGLang they show
 * a re-run that is later than its siblings by the same six seconds from the first request to the last.
 */
export interface FrontEnd {
  /** Times do not go back. */
  add(id: number, atS: number): void;
  /** When the next one comes out, as far as is known now; Infinity when none is in there. */
  nextS(): number;
  /** Takes out the next one. */
  take(): number;
  /** Takes out one whose client is gone; false when it is not in there. */
  drop(id: number): boolean;
  readonly inside: number;
}

/** @param requestS work for each request, seconds */
export function createFrontEnd(requestS: number): FrontEnd {
  const ids: number[] = [];
  /** Work that each one has been given when it is through, on a clock that counts what one of them has been given. */
  const outAt: number[] = [];
  let from = 0;
  let given = 0;
  let lastS = 0;
  const inside = (): number => ids.length - from;
  const pass = (untilS: number): void => {
    if (inside() > 0) given += (untilS - lastS) / inside();
    lastS = untilS;
  };
  const nextS = (): number =>
    inside() === 0 ? Number.POSITIVE_INFINITY : lastS + ((outAt[from] as number) - given) * inside();
  return {
    add(id, atS) {
      // Those that came out before were taken already, so all that are inside share the time since.
      pass(Math.max(atS, lastS));
      ids.push(id);
      outAt.push(given + requestS);
    },
    nextS,
    take() {
      pass(nextS());
      return ids[from++] as number;
    },
    drop(id) {
      const at = ids.indexOf(id, from);
      if (at < 0) return false;
      ids.splice(at, 1);
      outAt.splice(at, 1);
      return true;
    },
    get inside() {
      return inside();
    },
  };
}
