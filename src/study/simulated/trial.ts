import { setImmediate as nextTurn } from 'node:timers/promises';
import { openJournal } from '../../load/journal.ts';
import { sanityProblems } from '../../metrics/sanity.ts';
import { summarize } from '../../metrics/summary.ts';
import type { RecordList, RequestRecord } from '../../records/request.ts';
import type { FinishedTrial, Trial } from '../../records/trial.ts';
import type { Workload } from '../../records/workload.ts';
import { judge } from '../physics.ts';
import { arrivalsOf, studyPercentiles } from '../workload.ts';
import { gpusOfHardware } from './hardware.ts';
import type { LengthsPool } from './lengths.ts';
import { limitsOf, simulatedLoad } from './load.ts';
import { onThatDay } from './noise.ts';
import { simulatedRecords } from './records.ts';
import { isUncalibrated, type Simulation } from './simulation.ts';
import { type Started, settingsInForce, startOf } from './start.ts';

export type SimulatedOutcome = Pick<
  FinishedTrial,
  'fate' | 'failure' | 'summary' | 'effectiveSettings' | 'times' | 'simulated' | 'ceiling'
>;

/** What a trial is simulated with. */
export interface SimulatedTrial {
  readonly trial: Omit<Trial, 'beganAt'>;
  readonly workload: Workload;
  /** It is the first one of its engine's start. */
  readonly starts: boolean;
  readonly recordsPath: string;
  readonly signal: AbortSignal;
}

/**
 * One trial in virtual time: the start is estimated, the load simulated, its records written and summarized as if they
 * had been measured. There is no warm-up, since a virtual engine is warm, and no client that could be too slow. Only the
 * user's interruption and a disk that refuses throw.
 */
export async function simulateTrial(simulation: Simulation, asked: SimulatedTrial): Promise<SimulatedOutcome> {
  const { on, shape, parameters, clock, lengths } = simulation;
  const { trial, workload, signal } = asked;
  signal.throwIfAborted();
  const deployment = { configuration: trial.configuration, shape, hardware: on.hardware };
  const started = startOf(deployment, parameters, on.count);
  if ('fate' in started) return { ...started, simulated: true, times: {} };
  if (asked.starts) clock.pass(started.startS);

  const spec = onThatDay(started.able.spec, workload.seed, trial.id);
  const able = { ...started.able, spec };
  const load = await simulatedLoad(workload, lengths.get(workload.name) as LengthsPool, {
    able,
    ...limitsOf(trial.configuration, shape.maxPositions),
    seed: workload.seed + trial.id,
  });
  clock.pass(load.durationS);
  const records = simulatedRecords(load.parts, load.refused);
  await write(records, asked.recordsPath, signal);
  const { requestRate, rampUp } = arrivalsOf(workload);
  const summary = summarize(records, {
    asked: load.asked,
    percentiles: studyPercentiles,
    requestRate: rampUp?.endRps ?? requestRate,
    maxConcurrency: workload.max_concurrency ?? null,
    generates: true,
    notes: [...notesOf(simulation, started), ...load.notes],
  });
  const judged = judge(
    trial.configuration,
    { shape, gpus: gpusOfHardware(on) },
    { records, summary, maxConcurrency: workload.max_concurrency ?? null },
  );
  const problems = [
    ...sanityProblems(summary),
    ...(judged?.problems ?? []),
    ...(load.ranOut === undefined ? [] : [load.ranOut]),
  ];
  const common = {
    simulated: true,
    ...(judged?.ceiling ? { ceiling: judged.ceiling } : {}),
    summary,
    effectiveSettings: settingsInForce(started, deployment),
    times: { ...(asked.starts ? { startS: started.startS } : {}), warmupS: 0, loadS: load.durationS },
  } as const;
  if (problems.length === 0) return { fate: 'measured', ...common };
  return { fate: 'invalid_measurement', failure: { message: problems.join('; '), logTail: [] }, ...common };
}

function notesOf({ on, parameters }: Simulation, { able }: Started): readonly string[] {
  const { notModelled } = able;
  return [
    `Simulated for ${on.count === 1 ? '' : `${on.count} × `}${on.hardware.name}: no engine ran.`,
    ...(isUncalibrated(parameters)
      ? ['Uncalibrated: throughput may be off by 25 % either way, latencies by more; differences under 15 % are ties.']
      : []),
    ...(notModelled.length > 0
      ? [`The simulation does not follow ${notModelled.join(', ')}: without, figures would be the same.`]
      : []),
  ];
}

/** Records that are handed to the writer before it gets its turn. */
const batch = 256;

async function write(records: RecordList, path: string, signal: AbortSignal): Promise<void> {
  const journal = await openJournal(path, () => {});
  try {
    let written = 0;
    for (const record of records) {
      // So that figures that somebody makes of the file say it, too.
      journal.add({ ...record, simulated: true } as RequestRecord);
      if (++written % batch !== 0) continue;
      await nextTurn();
      signal.throwIfAborted();
    }
  } finally {
    await journal.close();
  }
}
