import { readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../engines/engine.ts';
import { compareVersions } from '../../kit/versions.ts';
import { findProgram } from '../../processes/programs.ts';
import { runToEnd } from '../../processes/run.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/** As `engines` in package.json. */
const oldestNode = '20';

/** Node, processor and clock. */
export async function systemFindings(environment: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  const cores = os.availableParallelism();
  const model = os.cpus()[0]?.model.trim() ?? 'unknown CPU';
  return [
    nodeFinding(process.versions.node),
    cores < 2
      ? note('CPU', `${model}, 1 core: engine and load client share it`, 'use a machine with more cores')
      : ok('CPU', `${model}, ${cores} cores`),
    await clockFinding(environment, signal),
  ];
}

export const nodeFinding = (version: string): Finding =>
  compareVersions(version, oldestNode) < 0
    ? problem('Node', `${version} is too old`, `install Node ${oldestNode} or newer`)
    : ok('Node', version);

/** A clock behind the files of this program fails every TLS certificate, and dates every report wrongly. */
async function clockFinding(environment: Environment, signal: AbortSignal): Promise<Finding> {
  const writtenMs = statSync(fileURLToPath(import.meta.url)).mtimeMs;
  return clockFindingOf({
    nowMs: Date.now(),
    writtenMs,
    synchronized: await isSynchronized(environment, signal),
    source: clockSource(),
  });
}

/**
 * `writtenMs` is when this program was written to the disk; `synchronized` and `source` are null where the system does not
 * tell. A time source that must be read from a device makes each reading cost a microsecond or more.
 */
export function clockFindingOf(clock: {
  readonly nowMs: number;
  readonly writtenMs: number;
  readonly synchronized: boolean | null;
  readonly source: string | null;
}): Finding {
  const what = 'clock';
  const at = `${new Date(clock.nowMs).toISOString().slice(0, 19)}Z`;
  if (clock.nowMs < clock.writtenMs - 60_000) {
    return problem(what, `${at}, before this program was installed`, 'set the clock: sudo timedatectl set-ntp true');
  }
  if (clock.source !== null && /hpet|acpi_pm|pit|jiffies/.test(clock.source)) {
    return note(what, `${at}; its source is ${clock.source}, which is slow to read`, 'see the kernel log about tsc');
  }
  if (clock.synchronized === false) {
    return note(what, `${at}, not synchronized`, 'sudo timedatectl set-ntp true; measurements do not depend on it');
  }
  return ok(what, clock.synchronized ? `${at}, synchronized` : at);
}

async function isSynchronized(environment: Environment, signal: AbortSignal): Promise<boolean | null> {
  if (findProgram('timedatectl', environment.PATH) === null) return null;
  const argv = ['timedatectl', 'show', '--property=NTPSynchronized', '--value'];
  const { code, stdout } = await runToEnd(argv, { env: environment, timeoutS: 10, signal });
  const answer = stdout.trim();
  return code === 0 && (answer === 'yes' || answer === 'no') ? answer === 'yes' : null;
}

function clockSource(): string | null {
  try {
    return readFileSync('/sys/devices/system/clocksource/clocksource0/current_clocksource', 'utf8').trim();
  } catch {
    return null;
  }
}
