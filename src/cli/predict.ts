import { z } from 'zod';
import { type ExitCode, exitCodes } from '../kit/errors.ts';
import { formatNumber } from '../kit/words.ts';
import { configurationLabel } from '../records/settings.ts';
import { loadStudy } from '../study/load-study.ts';
import {
  type CalibrationFile,
  calibrateFrom,
  expectWritable,
  readCalibration,
  writeCalibration,
} from '../study/predict/calibration.ts';
import { type Prediction, predictStudy, type StudyPrediction } from '../study/predict/predict-study.ts';
import { defineCommand } from './command.ts';
import { runDirOf } from './run-dir.ts';

const uncalibrated = 'uncalibrated, +-25 %';

export default defineCommand({
  name: 'predict',
  about: [
    'Says before any GPU time is spent what each configuration of a study would come to: whether it fits, what the hardware',
    'could do at most, and total throughput, TTFT and TPOT by simulating the engine’s scheduler. All of it is simulated.',
    '',
    'With --calibrate it fits the simulator to trials that were measured (folders of runs), to files of published result',
    'blocks, and with --gpu-rates to what tools/gpu-rates/measure.py found, and writes that down with its errors.',
  ].join('\n'),
  positional: { key: 'study', label: 'STUDY.yaml', optional: true },
  repeatable: ['calibrate', 'gpu_rates'],
  options: z.strictObject({
    study: z.string().min(1).optional().describe('The study whose configurations are predicted'),
    gpu: z.string().min(1).optional().describe('The GPU to predict for, in place of the study’s'),
    gpus: z.int().min(1).max(1024).optional().describe('How many of them'),
    calibrate: z
      .array(z.string().min(1))
      .optional()
      .describe('A run, or a file of published blocks, to fit the simulator to; repeatable'),
    gpu_rates: z.array(z.string().min(1)).optional().describe('JSON of tools/gpu-rates/measure.py; repeatable'),
    calibration: z
      .string()
      .min(1)
      .optional()
      .describe('The file that --calibrate writes, and that predictions use; without it they are uncalibrated'),
    json: z.boolean().default(false).describe('Print the result as JSON'),
  }),
  examples: [
    ['servetune predict study.yaml', 'what fits, and what would be fast?'],
    ['servetune predict --calibrate runs/qwen3 --calibration h100.json', 'learn from a run'],
    ['servetune predict study.yaml --calibration h100.json', 'and predict with it'],
  ],

  check: ({ study, calibrate, gpu_rates: rates, calibration }) => {
    const fits = calibrate !== undefined || rates !== undefined;
    return [
      ...(study === undefined && !fits
        ? [{ place: 'STUDY.yaml', message: 'is missing', hint: 'name a study, or --calibrate with a run' }]
        : []),
      ...(fits && calibration === undefined
        ? [{ place: '--calibration', message: 'is missing: where shall the fit be written?', hint: 'add --calibration FILE.json' }] // biome-ignore format: one problem
        : []),
    ];
  },

  async run(options, terminal): Promise<ExitCode> {
    const { environment, signal } = terminal;
    const sources = (options.calibrate ?? []).map(runDirOf);
    const rates = options.gpu_rates ?? [];
    let calibration: CalibrationFile | null = null;
    if (sources.length + rates.length > 0) {
      expectWritable(options.calibration as string);
      terminal.note('fitting; of many observations this takes a minute');
      calibration = await calibrateFrom(sources, rates, environment, signal);
      writeCalibration(options.calibration as string, calibration);
      if (!options.json)
        for (const line of calibrationLines(calibration, options.calibration as string)) terminal.print(line);
    } else if (options.calibration !== undefined) calibration = readCalibration(options.calibration);
    if (options.study === undefined) {
      if (options.json) terminal.print(JSON.stringify({ simulated: true, calibration }));
      return exitCodes.done;
    }

    const loaded = await loadStudy(options.study, environment, signal, {
      mustBeInstalled: false,
      simulated: { gpu: options.gpu, gpus: options.gpus, parameters: calibration?.parameters },
    });
    const expectedError =
      calibration?.errorLeavingOneOut?.totalTokensPerS ?? calibration?.errorOnUsed.totalTokensPerS ?? null;
    const result = await predictStudy(loaded, { environment, signal, expectedError });
    const state = calibration === null ? uncalibrated : accuracyOf(calibration, result.hardware);
    if (options.json) terminal.print(JSON.stringify({ simulated: true, accuracy: state, ...result, calibration }));
    else for (const line of predictionLines(result, state)) terminal.print(line);
    return result.predictions.some(({ figures }) => figures !== null) ? exitCodes.done : exitCodes.noneQualified;
  },
});

const percent = (share: number | null | undefined): string =>
  share == null ? 'not known' : `${(100 * share).toFixed(1)} %`;

function accuracyOf({ errorLeavingOneOut: error, used, parameters }: CalibrationFile, hardware: string): string {
  if (!Object.keys(parameters).some((name) => name.startsWith(`${hardware} `))) {
    return `${uncalibrated}: the calibration holds nothing of ${hardware}`;
  }
  if (used.length === 0) return 'rates of the GPU measured, costs of the engines uncalibrated, +-25 %';
  if (error === null) return `calibrated on ${used.length} observation; the error to expect is not known from so few`;
  return `calibrated on ${used.length} observations; throughput +-${percent(error.totalTokensPerS)}, TTFT +-${percent(error.meanTtftS)}, TPOT +-${percent(error.meanTpotS)} (mean, each predicted from the others)`;
}

function calibrationLines(calibration: CalibrationFile, path: string): readonly string[] {
  const { used, leftOut, gpuRates, parameters, errorOnUsed, errorLeavingOneOut } = calibration;
  const errors = (of: typeof errorOnUsed): string =>
    `throughput ${percent(of.totalTokensPerS)}, TTFT ${percent(of.meanTtftS)}, TPOT ${percent(of.meanTpotS)}`;
  return [
    `fitted to ${used.length} observations${gpuRates.length > 0 ? ` and ${gpuRates.join(', ')}` : ''}:`,
    ...used.map((label) => `  ${label}`),
    ...(leftOut.length > 0 ? ['not used:', ...leftOut.map((why) => `  ${why}`)] : []),
    'parameters:',
    ...Object.entries(parameters).map(([name, value]) => `  ${name}: ${Number(value.toPrecision(4))}`),
    `mean absolute error on these: ${errors(errorOnUsed)}`,
    ...(errorLeavingOneOut === null ? [] : [`each predicted from the others: ${errors(errorLeavingOneOut)}`]),
    `written to ${path}`,
  ];
}

const gpusOf = ({ configuration: { settings } }: Prediction): number =>
  ['tensor_parallel', 'pipeline_parallel', 'data_parallel'].reduce((n, name) => n * Number(settings[name] ?? 1), 1);

function predictionLines(result: StudyPrediction, state: string): readonly string[] {
  const { hardware, gpus, workload, predictions, tieShare } = result;
  const idle = Math.max(0, ...predictions.filter(({ figures }) => figures !== null).map((row) => gpus - gpusOf(row)));
  return [
    `SIMULATED for ${gpus === 1 ? '' : `${gpus} x `}${hardware}, workload ${workload}; ${state}`,
    '',
    ...predictions.flatMap(rowLines),
    '',
    ...(predictions.some(({ figures }) => figures !== null)
      ? [`= within ${percent(tieShare)} of the best: no difference that this prediction can tell`]
      : ['no configuration runs on this hardware']),
    ...(idle > 0
      ? [`${idle} of ${gpus} GPUs are idle in some of them: tensor_parallel and data_parallel say how many are used`]
      : []),
    ...new Set(
      predictions.flatMap(({ notModelled }) =>
        notModelled.map((name) => `${name} changes nothing here: it is not modelled`),
      ),
    ),
    ...result.notes,
  ];
}

function rowLines(row: Prediction): readonly string[] {
  const name = `${row.stage === undefined ? 'baseline' : row.stage}: ${configurationLabel(row.configuration)}`;
  const { figures, fit } = row;
  if (figures === null || fit === null) return [`  ${name}`, `      does not run: ${row.refused ?? 'no figures'}`];
  const shown = (value: number | null | undefined, digits = 0): string =>
    value == null ? '-' : formatNumber(Number(value.toFixed(digits)), 'en');
  return [
    `${row.tiedWithBest ? '=' : ' '} ${name}`,
    `      ${shown(figures.totalTokensPerS)} tok/s, ${percent(row.shareOfCeiling)} of the ceiling of ${shown(row.ceiling?.totalTokensPerS)} (${row.ceiling?.bound}-bound)` +
      `; TTFT ${shown((figures.ttftS?.mean ?? Number.NaN) * 1000)} ms (p99 ${shown((figures.ttftS?.p99 ?? Number.NaN) * 1000)})` +
      `, TPOT ${figures.tpotS === null ? '-' : shown(figures.tpotS.mean * 1000, 1)} ms; KV cache ${shown(fit.kvCapacityTokens)} tokens, context to ${shown(fit.largestContextTokens)}`,
  ];
}
