import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Environment } from '../../engines/engine.ts';
import type { GpuRates } from '../../hardware/gpu-rates.ts';
import { gpuNamed } from '../../hardware/gpus.ts';
import { readMeasuredRates } from '../../hardware/measured-rates.ts';
import { InputError, messageOf, type Problem } from '../../kit/errors.ts';
import { calibrate, type Measured, measuredNames, type Observation } from '../../simulator/calibrate.ts';
import type { Belief, Parameters } from '../../simulator/parameters.ts';
import { isRun } from '../../store/store.ts';
import { observationOf, readBlocks } from './published.ts';
import { type Gathered, observationsIn } from './stored.ts';
import { type Compared, compared, meanError } from './validation.ts';

const errors = z.object({ totalTokensPerS: z.number().nullable(), meanTtftS: z.number().nullable(), meanTpotS: z.number().nullable() }); // biome-ignore format: one line

/** What `predict --calibrate` writes, and what predictions read. Errors are mean absolute ones, as shares. */
const calibrationFile = z.object({
  format: z.literal('servetune-calibration-1'),
  parameters: z.record(z.string(), z.number().positive()),
  /** Labels of what was used, and what was not, with the reason. */
  used: z.array(z.string()).default([]),
  leftOut: z.array(z.string()).default([]),
  /** Files with a GPU's own rates. */
  gpuRates: z.array(z.string()).default([]),
  /** On what was fitted: smaller than on anything new. */
  errorOnUsed: errors.default({ totalTokensPerS: null, meanTtftS: null, meanTpotS: null }),
  /** Each predicted from others; null where there is but one. */
  errorLeavingOneOut: errors.nullable().default(null),
});
export type CalibrationFile = z.infer<typeof calibrationFile>;

/** Reads a calibration. Throws an InputError. */
export function readCalibration(path: string): CalibrationFile {
  let text: unknown;
  try {
    text = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new InputError([
      { place: path, message: `cannot be read: ${messageOf(error)}`, hint: 'write one with predict --calibrate' },
    ]);
  }
  const read = calibrationFile.safeParse(text);
  if (read.success) return read.data;
  throw new InputError([
    {
      place: path,
      message: `is no calibration (${read.error.issues[0]?.path.join('.')}: ${read.error.issues[0]?.message})`,
      hint: 'write one with predict --calibrate',
    },
  ]);
}

/** The text of a calibration of which nothing is known but its parameters. */
export const bareCalibration = (parameters: Parameters): string =>
  JSON.stringify({ format: 'servetune-calibration-1', parameters });

/** Writes a calibration. Throws an InputError where the file cannot be written. */
export function writeCalibration(path: string, calibration: CalibrationFile): void {
  try {
    writeFileSync(path, `${JSON.stringify(calibration, null, 2)}\n`);
  } catch (error) {
    throw notWritten(path, error);
  }
}

/**
 * Fits the simulator to what was measured: runs (their folders) and files of published blocks, and the rates that the
 * micro-benchmark found on a GPU. Throws an InputError where a source cannot be read, or nothing can be used.
 */
export async function calibrateFrom(
  sources: readonly string[],
  ratesFiles: readonly string[],
  environment: Environment,
  signal: AbortSignal,
): Promise<CalibrationFile> {
  const gathered = await gather(sources, environment, signal);
  const beliefs = ratesFiles.map((path) => believedOf(readMeasuredRates(read(path), path), path));
  const known: Readonly<Record<string, Belief>> = Object.assign({}, ...beliefs);
  const { observations } = gathered;
  if (observations.length === 0 && ratesFiles.length === 0) {
    throw new InputError([
      {
        place: '--calibrate',
        message: `nothing that was measured can be used: ${gathered.leftOut.slice(0, 5).join('; ') || 'no source was named'}`,
        hint: 'name the folder of a run on a known GPU, or a file of published blocks',
      },
    ]);
  }
  const { parameters } = calibrate(observations, known);
  await nextTurn(signal);
  const rows = observations.map((one) => compared(one, parameters));
  const unable = rows.flatMap(({ observation, predicted }) =>
    typeof predicted === 'string' ? [`${observation.label}: ${predicted}`] : [],
  );
  const able = rows.filter(({ predicted }) => typeof predicted !== 'string').map(({ observation }) => observation);
  return {
    format: 'servetune-calibration-1',
    parameters,
    used: able.map(({ label }) => label),
    leftOut: [...gathered.leftOut, ...unable],
    gpuRates: [...ratesFiles],
    errorOnUsed: errorsOf(rows),
    errorLeavingOneOut: able.length < 2 ? null : errorsOf(await leavingOut(able, known, signal)),
  };
}

/** More fits than that would take longer than what they tell is worth. */
const mostFits = 12;
const folds = 5;

/** Each observation predicted from others: from all of them, or, of many, from four fifths. */
async function leavingOut(
  all: readonly Observation[],
  known: Readonly<Record<string, Belief>>,
  signal: AbortSignal,
): Promise<readonly Compared[]> {
  const parts = all.length <= mostFits ? all.length : folds;
  const rows: Compared[] = [];
  for (let part = 0; part < parts; part++) {
    const others = all.filter((_, i) => i % parts !== part);
    const { parameters } = calibrate(others, known);
    rows.push(...all.filter((_, i) => i % parts === part).map((one) => compared(one, parameters)));
    await nextTurn(signal);
  }
  return rows;
}

/** A fit takes seconds, in which no signal is heard. */
async function nextTurn(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/** Throws an InputError where a calibration could not be written, before it takes its time. */
export function expectWritable(path: string): void {
  try {
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK);
    if (existsSync(path) && statSync(path).isDirectory()) throw new Error('it is a folder');
  } catch (error) {
    throw notWritten(path, error);
  }
}

const notWritten = (path: string, error: unknown): InputError =>
  new InputError([
    { place: path, message: `cannot be written: ${messageOf(error)}`, hint: 'name another file with --calibration' },
  ]);

const errorsOf = (rows: readonly Compared[]): Record<keyof Measured, number | null> =>
  Object.fromEntries(measuredNames.map((name) => [name, meanError(rows, name)])) as Record<
    keyof Measured,
    number | null
  >;

async function gather(sources: readonly string[], environment: Environment, signal: AbortSignal): Promise<Gathered> {
  const all: Gathered[] = [];
  for (const source of sources) {
    if (isRun(source)) {
      all.push(await observationsIn(source, environment, signal));
      continue;
    }
    const blocks = readBlocks(read(source), source).map(observationOf);
    all.push({
      observations: blocks.filter((one) => typeof one !== 'string'),
      leftOut: blocks.flatMap((one, i) => (typeof one === 'string' ? [`${source}: block ${i + 1}: ${one}`] : [])),
    });
  }
  return { observations: all.flatMap((one) => one.observations), leftOut: all.flatMap((one) => one.leftOut) };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const problem: Problem = {
      place: path,
      message: `cannot be read: ${messageOf(error)}`,
      hint: 'give the folder of a run, or a file of published blocks',
    };
    throw new InputError([problem]);
  }
}

/** Sustained rates of one card vary by a few per cent; a burst says less of what an engine will reach. */
const spreadOf = (sustained: boolean): number => (sustained ? 0.08 : 0.2);

/** What a GPU's own rates say of the parameters: engines reach somewhat less than bare kernels do. */
function believedOf(rates: GpuRates, path: string): Readonly<Record<string, Belief>> {
  const gpu = rates.device === null ? null : gpuNamed(rates.device);
  if (gpu === null) {
    throw new InputError([
      { place: path, message: `nothing is known of its GPU, ${rates.device ?? 'which it does not name'}`, hint: 'measure on a GPU of src/hardware/datasheets.ts' }, // biome-ignore format: one problem
    ]);
  }
  const { bf16FlopPerS: bf16, fp8FlopPerS: fp8, readBytesPerS: bytes, prefillAttentionFlopPerS: attention } = rates;
  const why = `measured: ${path}`;
  const spread = spreadOf(rates.sustained);
  const entry = (name: string, value: number | null): [string, Belief][] =>
    value === null ? [] : [[`${gpu.name} ${name}`, { value, spread, why }]];
  return Object.fromEntries([
    ...entry('matrix FLOP/s', bf16),
    ...entry('memory bytes/s', bytes),
    ...entry('attention over matrix rate', attention === null || bf16 === null ? null : attention / bf16),
    ...entry('fp8 speedup', fp8 === null || bf16 === null ? null : fp8 / bf16),
  ]);
}
