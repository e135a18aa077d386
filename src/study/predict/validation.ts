import { asMeasured, type Measured, measuredNames, type Observation, predictionOf } from '../../simulator/calibrate.ts';
import type { Parameters } from '../../simulator/parameters.ts';

/** One observation beside what was predicted of it. */
export interface Compared {
  readonly observation: Observation;
  /** A text says why nothing was predicted. */
  readonly predicted: Measured | string;
  /** Predicted over measured, less one; null where one of them is missing. */
  readonly error: Readonly<Record<keyof Measured, number | null>>;
}

export function compared(observation: Observation, parameters: Parameters): Compared {
  const figures = predictionOf(observation, parameters);
  const predicted = typeof figures === 'string' ? figures : asMeasured(figures);
  const error = Object.fromEntries(
    measuredNames.map((name) => {
      const [p, m] = [typeof predicted === 'string' ? null : predicted[name], observation.measured[name]];
      return [name, p === null || m === null || m === 0 ? null : p / m - 1];
    }),
  ) as Compared['error'];
  return { observation, predicted, error };
}

/** Mean absolute error of a figure, as a share; null where it was never compared. */
export function meanError(rows: readonly Compared[], name: keyof Measured): number | null {
  const errors = rows.flatMap(({ error }) => (error[name] === null ? [] : [Math.abs(error[name] as number)]));
  return errors.length === 0 ? null : errors.reduce((a, b) => a + b, 0) / errors.length;
}
