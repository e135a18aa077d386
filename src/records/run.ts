import type { SearchSpace } from './space.ts';
import type { StudySpec } from './study.ts';
import type { FinishedTrial } from './trial.ts';

/** The machine as found, without names or identifiers that would tell whose it is. */
export interface Machine {
  readonly os: string;
  readonly cpu: string;
  /** CPUs that this process may use. */
  readonly cores: number;
  readonly memoryBytes: number;
  /** One line a GPU: name, memory, driver. Empty where there is none. */
  readonly gpus: readonly string[];
  readonly node: string;
}

/** Weights that a study served, as found: a name on a hub may stand for other weights tomorrow. */
export interface Weights {
  readonly name: string;
  /** The commit of its repository; null of local files. */
  readonly commit: string | null;
  readonly bytes: number;
}

/** Everything that a report is made of: what was asked, where it ran, and what happened. */
export interface RunData {
  readonly study: StudySpec;
  /** The study's stages, with every engine's version as found. */
  readonly space: SearchSpace;
  readonly machine: Machine;
  /** Absent where no engine takes its weights from a hub or a folder. */
  readonly weights?: readonly Weights[];
  readonly servetuneVersion: string;
  /** In the order of their ids. */
  readonly trials: readonly FinishedTrial[];
  readonly beganAt: string;
  /** Absent while the study is unfinished. */
  readonly endedAt?: string;
  /** Numbers come from a simulated engine; said wherever they stand. */
  readonly simulated: boolean;
  /** They were predicted without a fit to measurements. */
  readonly uncalibrated?: true;
}
