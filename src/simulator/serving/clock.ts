import { now } from '../../kit/clock.ts';

/** Simulated time, bound to real time: `scale` seconds of it pass in one real second, but for pauses. */
export interface SimulatedClock {
  /** Seconds of simulated time since the clock was made. */
  nowS(): number;
  /** Real seconds from now until a simulated time; negative when it is over, Infinity when it never comes. */
  untilS(atS: number): number;
  /** Lets simulated time stand still for so many real seconds from now; Infinity is for good. */
  pause(durationS: number): void;
}

/** @param realS a monotonic clock, seconds */
export function simulatedClock(scale: number, realS: () => number = now): SimulatedClock {
  const startS = realS();
  /** Real seconds that earlier pauses took. */
  let lostS = 0;
  let pause: { readonly fromS: number; readonly untilS: number } | null = null;

  function settle(): void {
    if (pause === null || realS() < pause.untilS) return;
    lostS += pause.untilS - pause.fromS;
    pause = null;
  }

  return {
    nowS() {
      settle();
      return ((pause?.fromS ?? realS()) - startS - lostS) * scale;
    },
    untilS(atS) {
      settle();
      const paused = pause === null ? 0 : pause.untilS - pause.fromS;
      return startS + lostS + paused + atS / scale - realS();
    },
    pause(durationS) {
      settle();
      const fromS = pause?.fromS ?? realS();
      pause = { fromS, untilS: Math.max(pause?.untilS ?? 0, realS() + durationS) };
    },
  };
}
