import { ascending, percentile } from './numbers.ts';

/** How promptly this process's event loop turned while it was watched. Times in seconds. */
export interface LoopDelay {
  /** How late an event that falls due at a random moment is noticed: percentiles and the worst. */
  readonly p50S: number;
  readonly p90S: number;
  readonly p99S: number;
  readonly maxS: number;
  /**
   * The same, counting only the part of each delay in which this process was itself computing. A process that waits for
   * a core that others hold is late as well, but not by its own fault.
   */
  readonly ownP99S: number;
  /** Share of the time in which the loop had something to do, or waited for a core to do it: 1 is saturated. */
  readonly busyShare: number;
  /** CPU seconds of this process, all threads, a second; 1 is one whole core. */
  readonly cpuShare: number;
}

/**
 * Watches the event loop by a timer: what a tick comes late, the loop was blocked or the process was not running.
 * `monitorEventLoopDelay` measures the same but cannot tell the two apart, because it does not look at the CPU time that
 * was used meanwhile; and it counts a pause of a second once, as if one event in thousands were late, while a tick of
 * this watch that comes n periods late stands for n moments. The timer does not keep the process alive.
 */
export function watchLoopDelay(periodS = 0.02): { stop(): LoopDelay } {
  const delays: number[] = [];
  const own: number[] = [];
  const startedAt = performance.now();
  const cpuAtStart = cpuSeconds();
  const loopAtStart = performance.eventLoopUtilization();
  let lastAt = startedAt;
  let lastCpu = cpuAtStart;

  const tick = (): void => {
    const at = performance.now();
    const cpu = cpuSeconds();
    const lateS = (at - lastAt) / 1000 - periodS;
    const ownS = Math.min(lateS, cpu - lastCpu);
    lastAt = at;
    lastCpu = cpu;
    spread(delays, lateS, periodS);
    spread(own, ownS, periodS);
    // Both samples stand for the same moments.
    for (let missing = delays.length - own.length; missing > 0; missing--) own.push(0);
  };
  const timer = setInterval(tick, periodS * 1000);
  timer.unref();

  return {
    stop() {
      clearInterval(timer);
      if (performance.now() - lastAt > periodS * 1000) tick();
      const sorted = ascending(delays);
      const elapsedS = Math.max((performance.now() - startedAt) / 1000, 1e-6);
      return {
        p50S: percentile(sorted, 50) ?? 0,
        p90S: percentile(sorted, 90) ?? 0,
        p99S: percentile(sorted, 99) ?? 0,
        maxS: sorted.at(-1) ?? 0,
        ownP99S: percentile(ascending(own), 99) ?? 0,
        busyShare: performance.eventLoopUtilization(loopAtStart).utilization,
        cpuShare: (cpuSeconds() - cpuAtStart) / elapsedS,
      };
    },
  };
}

/** Adds what events due at each period of a delay would have waited: all of it, one period less, and so on. */
function spread(sample: number[], delayS: number, periodS: number): void {
  let restS = delayS;
  do {
    sample.push(Math.max(0, restS));
    restS -= periodS;
  } while (restS > 0);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
