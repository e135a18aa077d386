import type { Environment } from '../../engines/engine.ts';
import type { CompleteShape } from '../../hardware/model.ts';
import { InputError, type Problem } from '../../kit/errors.ts';
import type { Machine } from '../../records/run.ts';
import type { FinishedTrial } from '../../records/trial.ts';
import type { Parameters } from '../../simulator/parameters.ts';
import type { StudyFile } from '../read.ts';
import { hardwareOf, machineOfHardware, type SimulatedHardware, shapeOf } from './hardware.ts';
import { type LengthsPool, lengthsOf } from './lengths.ts';
import { epoch } from './study.ts';

/** Everything that the trials of a simulated study have in common. */
export interface Simulation {
  readonly on: SimulatedHardware;
  readonly machine: Machine;
  readonly shape: CompleteShape;
  readonly parameters: Parameters;
  /** Lengths of the requests by the name of their workload. */
  readonly lengths: ReadonlyMap<string, LengthsPool>;
  readonly clock: VirtualClock;
}

/** The time of a simulated run: it passes when something in it takes time. */
export interface VirtualClock {
  /** ISO 8601, UTC. */
  time(): string;
  pass(durationS: number): void;
}

/** A clock that stands where the last of these trials ended. */
export function virtualClock(): VirtualClock & { goOn(finished: readonly FinishedTrial[]): void } {
  let nowMs = Date.parse(epoch);
  return {
    time: () => new Date(Math.round(nowMs)).toISOString(),
    pass(durationS) {
      nowMs += durationS * 1000;
    },
    goOn(finished) {
      nowMs = finished.reduce((latest, { endedAt }) => Math.max(latest, Date.parse(endedAt)), Date.parse(epoch));
    },
  };
}

/** Predicts without any fit, which is off by about so much in throughput; of latencies nothing is promised. */
export const isUncalibrated = (parameters: Parameters): boolean => Object.keys(parameters).length === 0;

/**
 * Makes ready to simulate a study. Throws one InputError with everything that cannot be: unknown hardware, a model of
 * unknown shape, workloads whose lengths are not to be had.
 */
export async function prepareSimulation(
  file: StudyFile,
  environment: Environment,
  signal: AbortSignal,
): Promise<Simulation & { readonly clock: ReturnType<typeof virtualClock> }> {
  const { model, workloads, hardware } = file.study;
  const on = hardwareOf(file);
  const shape = await shapeOf(file, environment, signal);
  const problems: Problem[] = [];
  const lengths = new Map<string, LengthsPool>();
  for (const workload of workloads) {
    try {
      lengths.set(workload.name, await lengthsOf(workload, { model, environment, signal }));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new InputError(problems);
  const parameters = hardware?.parameters ?? {};
  return { on, machine: machineOfHardware(on), shape, parameters, lengths, clock: virtualClock() };
}
