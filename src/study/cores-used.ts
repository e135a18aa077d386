import { readFileSync } from 'node:fs';
import { now } from '../kit/clock.ts';

/** Ticks of `/proc/stat` a second, the same on every Linux. */
const ticksPerS = 100;

/** CPU time over a stretch of time, in seconds. */
export interface CoresUsed {
  readonly elapsedS: number;
  /** Of this process, all its threads. */
  readonly ownCpuS: number;
  /** Of all programs of the machine, and of those that its hypervisor ran instead; null where the system does not tell. */
  readonly allCpuS: number | null;
}

/**
 * Watches who computes from now on. The load average would not do: it looks back over a minute, so it still shows what
 * ended before, and shows little of what began since.
 */
export function watchCores(): { read(): CoresUsed } {
  const beganS = now();
  const own = process.cpuUsage();
  const all = allCpuS();
  return {
    read() {
      const { user, system } = process.cpuUsage(own);
      const after = allCpuS();
      return {
        elapsedS: now() - beganS,
        ownCpuS: (user + system) / 1e6,
        allCpuS: all === null || after === null ? null : after - all,
      };
    },
  };
}

/**
 * Time that programs took, and time stolen by other machines on the same hardware. Interrupts are left out: on loopback
 * they are our own traffic, and no process is charged for them.
 */
function allCpuS(): number | null {
  let text: string;
  try {
    text = readFileSync('/proc/stat', 'latin1');
  } catch {
    return null;
  }
  const [, user, nice, system, , , , , steal] = text.slice(0, text.indexOf('\n')).split(/\s+/).map(Number);
  const ticks = (user ?? Number.NaN) + (nice ?? 0) + (system ?? 0) + (steal ?? 0);
  return Number.isFinite(ticks) ? ticks / ticksPerS : null;
}
