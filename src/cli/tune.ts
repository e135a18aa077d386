import { join } from 'node:path';
import { z } from 'zod';
import { exitCodes, InputError, Interrupted, type Problem } from '../kit/errors.ts';
import { invocation } from '../kit/invocation.ts';
import { shellCommand } from '../kit/shell.ts';
import { isRun } from '../store/store.ts';
import { type LoadOptions, loadDefaultStudy, loadStudy } from '../study/load-study.ts';
import { readCalibration } from '../study/predict/calibration.ts';
import { tune } from '../study/tune.ts';
import { defineCommand } from './command.ts';
import { conclude, conclusionLines } from './conclusion.ts';
import { draftOf, draftProblems, draftRepeatable, draftShape, draftWords } from './draft-options.ts';
import { dryRun } from './dry-run.ts';
import { writeReport } from './report-files.ts';
import { setAside } from './run-dir.ts';
import { progressReporter } from './tune-progress.ts';
import { version } from './version.ts';

export default defineCommand({
  name: 'tune',
  about: [
    'Starts each configuration of the study from fresh, measures it, stops it, and builds stage by stage on the winner.',
    'Comparisons that noise could explain are repeated; the baseline is measured first and last; the command that is',
    'recommended is started once more, as it stands, and confirmed. Everything goes to one folder, which --resume',
    'continues after Ctrl-C, a crash or a power cut. docs/study-file.md names every key of a study file. Models that are',
    'made or converted here are kept in SERVETUNE_CACHE, by default ~/.cache/servetune.',
  ].join('\n'),
  positional: { key: 'study', label: 'STUDY.yaml', optional: true },
  options: z.strictObject({
    study: z.string().optional().describe('The study file'),
    model: z
      .string()
      .min(1)
      .optional()
      .describe('In place of a study file: what `servetune init --model` would write for this model'),
    ...draftShape,
    host: z
      .enum(['local', 'uv', 'docker', 'simulated'])
      .default('local')
      .describe(
        'Where and how the engines of --model are started; simulated starts nothing, neither they nor those of a study file, and predicts every figure in virtual time',
      ),
    gpu: z.string().min(1).optional().describe('With host simulated: the GPU to predict for, in place of the study’s'),
    gpus: z.int().min(1).max(1024).optional().describe('With host simulated: how many of them'),
    calibration: z
      .string()
      .min(1)
      .optional()
      .describe('With host simulated: a file that `servetune predict --calibrate` wrote; without it uncalibrated'),
    live: z
      .boolean()
      .default(false)
      .describe('With host simulated: really send every load, in real time, to a `servetune sim serve` for each start'),
    run: z.string().min(1).optional().describe('Folder of the run; default: ./runs/NAME'),
    resume: z.boolean().default(false).describe('Go on with the run that is in the folder; nothing is measured twice'),
    fresh: z
      .boolean()
      .default(false)
      .describe('Begin anew; a run that is in the folder is kept as NAME.1, NAME.2, ...'),
    dry_run: z.boolean().default(false).describe('Print every command that would be started, and start nothing'),
    json: z.boolean().default(false).describe('Print the result as JSON'),
  }),
  examples: [
    ['servetune tune examples/quickstart.yaml', 'a whole study on this CPU'],
    ['servetune tune --model Qwen/Qwen3-14B', 'with the engines that are installed, without a study file'],
    ['servetune tune --model Qwen/Qwen3-14B --engines vllm@0.11.0 --host uv', 'with an engine that uv installs'],
    ['servetune tune study.yaml --dry-run', 'see the commands first'],
    ['servetune tune study.yaml --resume', 'go on after an interruption'],
    ['servetune tune study.yaml --host simulated --gpu "H100 SXM"', 'predict all of it, without a GPU'],
  ],

  repeatable: draftRepeatable,

  check: ({ study, model, ...asked }) => [
    ...(asked.host === 'simulated' ? [] : hardwareProblems(asked)),
    ...(model === undefined
      ? draftWords(drafted(asked))
          .filter((word) => /^--(engines|host|python)$/.test(word))
          .map((place) => ({ place, message: 'belongs to --model', hint: 'a study file names its engines itself' }))
      : draftProblems(drafted(asked))),
    ...((study === undefined) === (model === undefined)
      ? [
          {
            place: 'STUDY.yaml',
            message: study === undefined ? 'is missing' : 'contradicts --model',
            hint: 'give a study file, or --model NAME for the default study of a model',
          },
        ]
      : []),
  ],

  async run(options, terminal) {
    const { signal, environment } = terminal;
    if (options.resume && options.fresh) {
      throw new InputError([{ place: '--fresh', message: 'contradicts --resume', hint: 'give one of the two' }]);
    }
    const runDirFor = ({ name }: { readonly name: string }): string => options.run ?? join('runs', name);
    const resolving: LoadOptions = {
      mustBeInstalled: !options.dry_run,
      isBegun: (study) => options.resume && isRun(runDirFor(study)),
      onLook: terminal.note,
      ...(options.host === 'simulated'
        ? { simulated: { gpu: options.gpu, gpus: options.gpus, parameters: parametersIn(options) } }
        : {}),
    };
    const loaded =
      options.study === undefined
        ? await loadDefaultStudy(options.model ?? '', environment, signal, {
            ...resolving,
            draft: draftOf(drafted(options)),
          })
        : await loadStudy(options.study, environment, signal, resolving);
    const { study } = loaded.file;
    if (options.dry_run) {
      for (const line of await dryRun(loaded.file, loaded.space, environment)) terminal.print(line);
      return exitCodes.done;
    }
    const runDir = runDirFor(study);
    const aside = options.fresh ? await setAside(runDir, environment) : undefined;
    if (aside !== undefined) terminal.note(`the earlier run is kept in ${aside}`);
    try {
      const { qualified } = await tune(
        {
          ...loaded,
          runDir,
          resume: options.resume,
          live: options.live,
          servetuneVersion: version,
          environment,
          signal,
        },
        progressReporter(terminal),
      );
      terminal.status('');
      const paths = writeReport(runDir, { formats: ['md', 'html', 'json'] });
      const conclusion = conclude(runDir);
      if (options.json) terminal.print(JSON.stringify({ runDir, reports: paths, qualified, ...conclusion }));
      else for (const line of conclusionLines(conclusion, paths)) terminal.print(line);
      return qualified ? exitCodes.done : exitCodes.noneQualified;
    } catch (error) {
      if (signal.aborted) {
        const again = [
          ...invocation,
          'tune',
          ...(options.study === undefined
            ? ['--model', options.model ?? '', ...draftWords(drafted(options))]
            : [options.study]),
          ...simulatedWords(options),
          ...(options.run ? ['--run', options.run] : []),
          '--resume',
        ];
        terminal.status('');
        terminal.note(`stopped; what was measured is kept. Go on with:\n  ${shellCommand(again)}`);
        throw new Interrupted();
      }
      throw error;
    }
  },
});

/** What a draft is told of the host: who simulates may name engines as if they were installed. */
const drafted = <T extends { readonly host: string }>(options: T) => ({
  ...options,
  host: options.host === 'simulated' ? ('local' as const) : (options.host as Exclude<Host, 'simulated'>),
});

type Host = 'local' | 'uv' | 'docker' | 'simulated';

interface Simulated {
  readonly host: Host;
  readonly gpu?: string | undefined;
  readonly gpus?: number | undefined;
  readonly live: boolean;
  readonly calibration?: string | undefined;
}

const parametersIn = ({ calibration }: Simulated) =>
  calibration === undefined ? undefined : readCalibration(calibration).parameters;

/** The same as words of a command line. */
const simulatedWords = ({ host, gpu, gpus, live, calibration }: Simulated): readonly string[] => [
  ...(host === 'simulated' ? ['--host', host] : []),
  ...(gpu === undefined ? [] : ['--gpu', gpu]),
  ...(gpus === undefined ? [] : ['--gpus', String(gpus)]),
  ...(calibration === undefined ? [] : ['--calibration', calibration]),
  ...(live ? ['--live'] : []),
];

const hardwareProblems = (options: Simulated): readonly Problem[] =>
  simulatedWords(options)
    .filter((word) => /^--(gpu|gpus|live|calibration)$/.test(word))
    .map((place) => ({
      place,
      message: 'belongs to --host simulated',
      hint: 'real engines use the GPUs that are here',
    }));
