import { type Deployment, simulable } from './deployment.ts';
import { type Figures, figuresOf } from './figures.ts';
import { type Belief, beliefsOf, type Parameters } from './parameters.ts';
import { type Load, simulate } from './simulate.ts';

/** A load that was measured, or published, with what it came to. */
export interface Observation {
  readonly label: string;
  readonly deployment: Deployment;
  readonly load: Load;
  readonly measured: Measured;
}

/** Null where it was not told. */
export interface Measured {
  readonly totalTokensPerS: number | null;
  readonly meanTtftS: number | null;
  readonly meanTpotS: number | null;
}

export const measuredNames = ['totalTokensPerS', 'meanTtftS', 'meanTpotS'] as const satisfies (keyof Measured)[];

/** What the simulation says of an observation; a text where it cannot. */
export function predictionOf(
  { deployment, load }: Pick<Observation, 'deployment' | 'load'>,
  parameters: Parameters,
): Figures | string {
  const able = simulable(deployment, parameters);
  if (typeof able === 'string') return able;
  if (!able.fit.starts) return able.fit.reason ?? 'it does not start';
  return figuresOf(load, simulate(able.spec, load, able.drafts));
}

export const asMeasured = (figures: Figures): Measured => ({
  totalTokensPerS: figures.totalTokensPerS,
  meanTtftS: figures.ttftS?.mean ?? null,
  meanTpotS: figures.tpotS?.mean ?? null,
});

/** One re-run differs from the next by 7 to 19 % in published studies; a good simulation from both by about this. */
const noise = 0.1;
/** Beyond this many times the noise an observation pulls with constant force: one odd run must not bend everything. */
const outlier = 1.5;
const rounds = 15;

/** Parameters that fit observations best, beliefs weighed in, and how far the fit is off. */
export interface Calibration {
  readonly parameters: Parameters;
  /** Of those that were simulated. */
  readonly observations: number;
}

/**
 * Finds the most probable parameters: each figure that was measured is log-normal about the simulated one, each parameter
 * log-normal about what is believed of it. Levenberg and Marquardt's method on the logarithms, with derivatives from
 * differences; observations beyond `outlier` count as Huber's loss has it. Observations that cannot be simulated are left
 * out. The same observations give the same parameters.
 *
 * @param known beliefs that take the place of those which every calibration begins with: what was measured by other means
 */
export function calibrate(
  observations: readonly Observation[],
  known: Readonly<Record<string, Belief>> = {},
): Calibration {
  const usable = observations.filter((one) => typeof predictionOf(one, {}) !== 'string');
  const beliefs = { ...beliefsAbout(usable), ...known };
  const names = Object.keys(beliefs);
  const start = names.map((name) => Math.log((beliefs[name] as Belief).value));
  const residuals = (logs: readonly number[]): number[] => {
    const parameters = Object.fromEntries(names.map((name, i) => [name, Math.exp(logs[i] as number)]));
    const ofData = usable.flatMap((one) =>
      differences(one, parameters).map((d) => (d === null ? 0 : huber(d / noise))),
    );
    const ofBeliefs = names.map(
      (name, i) => ((logs[i] as number) - (start[i] as number)) / (beliefs[name] as Belief).spread,
    );
    return [...ofData, ...ofBeliefs];
  };
  const logs = leastSquares(residuals, start);
  return {
    parameters: Object.fromEntries(names.map((name, i) => [name, Math.exp(logs[i] as number)])),
    observations: usable.length,
  };
}

function beliefsAbout(observations: readonly Observation[]): Readonly<Record<string, Belief>> {
  const all: Record<string, Belief> = {};
  for (const { deployment } of observations) {
    const able = simulable(deployment, {});
    if (typeof able === 'string') continue;
    Object.assign(all, beliefsOf(deployment.configuration.engine, deployment.hardware, able.precision));
  }
  return all;
}

/** ln of predicted over measured, by figure; null where one of them is not there. */
export function differences(observation: Observation, parameters: Parameters): readonly (number | null)[] {
  const figures = predictionOf(observation, parameters);
  if (typeof figures === 'string') return measuredNames.map(() => null);
  const predicted = asMeasured(figures);
  return measuredNames.map((name) => {
    const [p, m] = [predicted[name], observation.measured[name]];
    return p === null || m === null || p <= 0 || m <= 0 ? null : Math.log(p / m);
  });
}

const huber = (z: number): number =>
  Math.abs(z) <= outlier ? z : Math.sign(z) * Math.sqrt(2 * outlier * Math.abs(z) - outlier ** 2);

/** Levenberg and Marquardt. */
function leastSquares(residuals: (x: readonly number[]) => number[], start: readonly number[]): readonly number[] {
  const step = 0.03; // the simulation jumps a little where a request is let in a step sooner
  let x = [...start];
  let r = residuals(x);
  let damping = 0.1;
  for (let round = 0; round < rounds; round++) {
    const slopes = x.map((_, i) => {
      const moved = residuals(x.map((value, j) => (i === j ? value + step : value)));
      return moved.map((value, k) => (value - (r[k] as number)) / step);
    });
    const gradient = slopes.map((slope) => dot(slope, r));
    const normal = slopes.map((a) => slopes.map((b) => dot(a, b)));
    const before = dot(r, r);
    let after = before;
    for (let attempt = 0; attempt < 6 && after >= before; attempt++) {
      const damped = normal.map((row, i) => row.map((value, j) => (i === j ? value * (1 + damping) + 1e-9 : value)));
      const change = solve(
        damped,
        gradient.map((g) => -g),
      ).map((d) => Math.max(-1, Math.min(1, d)));
      const next = x.map((value, i) => value + (change[i] as number));
      const there = residuals(next);
      after = dot(there, there);
      if (after < before) {
        x = next;
        r = there;
        damping = Math.max(1e-3, damping / 3);
      } else damping *= 3;
    }
    if (after > before * 0.9995) break;
  }
  return x;
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);

/** Gauss's elimination with pivots; the matrix is positive definite. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const n = right.length;
  const rows = matrix.map((row, i) => [...row, right[i] as number]);
  const at = (i: number, j: number): number => (rows[i] as number[])[j] as number;
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let i = column + 1; i < n; i++) if (Math.abs(at(i, column)) > Math.abs(at(pivot, column))) pivot = i;
    [rows[column], rows[pivot]] = [rows[pivot] as number[], rows[column] as number[]];
    for (let i = column + 1; i < n; i++) {
      const factor = at(i, column) / at(column, column);
      for (let j = column; j <= n; j++) (rows[i] as number[])[j] = at(i, j) - factor * at(column, j);
    }
  }
  const x = new Array<number>(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let sum = at(i, n);
    for (let j = i + 1; j < n; j++) sum -= at(i, j) * (x[j] as number);
    x[i] = sum / at(i, i);
  }
  return x;
}
