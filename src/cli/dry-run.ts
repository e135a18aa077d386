import { fetchedDataset } from '../datasets/kept/fetch.ts';
import type { Environment } from '../engines/engine.ts';
import { commandWords } from '../hosts/host.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { invoked } from '../kit/invocation.ts';
import { hideDeep, hideSecrets } from '../kit/secrets.ts';
import { shellCommand } from '../kit/shell.ts';
import { formatNumber } from '../kit/words.ts';
import { type Configuration, configurationLabel, engineLabel } from '../records/settings.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import { objectiveWorkload } from '../search/decisions.ts';
import { loadCommand } from '../study/load-command.ts';
import { declaredFor, engineNamed, shownAt } from '../study/places.ts';
import { type PlannedStart, plannedStarts, type Span, studySize } from '../study/planned.ts';
import { warmupsOf } from '../study/prompts.ts';
import type { StudyFile } from '../study/read.ts';
import { firstPort, measuringOf, servingCommandOf } from '../study/running-engine.ts';
import { workloadNamed } from '../study/trial.ts';

/**
 * Every command that a study would start, as lines, with how much there is of it. Alternatives of later stages are shown
 * on top of the baseline, or on top of the engine that has them; in the run they stand on top of what the stages before
 * have chosen. The load that decides stands below each.
 */
export async function dryRun(
  { study, place }: Pick<StudyFile, 'study' | 'place'>,
  space: SearchSpace,
  environment: Environment,
): Promise<readonly string[]> {
  const starts = plannedStarts(study, space, place);
  const deciding = objectiveWorkload(study);
  const lines = [...(await sizeLines(study, starts, environment)), ''];
  let told = false;
  for (const start of starts) {
    const { configuration, stage } = start;
    if (start.buildsOn && !told && stage !== space.stages[0]?.name) {
      told = true;
      lines.push(
        '# What follows is printed as if the baseline stayed ahead; in the run it stands on what was chosen.',
        '',
      );
    }
    lines.push(
      `# ${stage ?? 'baseline'}: ${configurationLabel(configuration)}`,
      ...refusalLines(start),
      ...servingLines(study, configuration, environment),
      `#   load: ${deciding}`,
      shown(loadOf(study, configuration, deciding)),
      '',
    );
  }
  for (const { name } of study.workloads) {
    if (name === deciding) continue;
    lines.push(`# load on baseline and winner: ${name}`, shown(loadOf(study, space.baseline, name)), '');
  }
  return lines;
}

async function sizeLines(
  study: StudySpec,
  starts: readonly PlannedStart[],
  environment: Environment,
): Promise<readonly string[]> {
  const size = studySize(study, starts);
  const warmups = [...new Set(study.workloads.map(warmupsOf))].sort((a, b) => a - b);
  const wave = (warmups.length > 1 ? [warmups[0], warmups.at(-1)] : warmups).join(' to ');
  const sharegpt = study.workloads.some((w) => w.dataset_name === 'sharegpt' && w.dataset_path === undefined);
  const missing = sharegpt && (await fetchedDataset(defaultCacheDir(environment), 'sharegpt')) === null;
  const begun = starts.every(({ configuration }) => urlOf(study, configuration) !== undefined)
    ? 'nothing is started'
    : `${between(size.starts)} engine starts`;
  return [
    `# ${study.name}: ${begun}, ${between(size.measurements)} measurements; more where one is refused and tried again.`,
    `# Before each measurement a wave of warm-ups, ${wave} requests of the same shape that are not counted (--num-warmups).`,
    ...(missing
      ? [
          '# ShareGPT is not here: a synthetic stand-in of the same lengths would be sent. To send ShareGPT itself:',
          `#   ${invoked('dataset fetch sharegpt')}`,
        ]
      : []),
  ];
}

const between = ([least, most]: Span): string =>
  least === most ? formatNumber(most, 'en') : `${formatNumber(least, 'en')} to ${formatNumber(most, 'en')}`;

/** Which engines would not be started with it; where that is the baseline's, the alternative is shown on another. */
const refusalLines = ({ configuration, refusedBy }: PlannedStart): readonly string[] =>
  refusedBy.map(({ engine, reason }) =>
    engine === engineLabel(configuration)
      ? `#   not started: ${reason}`
      : `#   not started if ${engine} is ahead: ${reason}`,
  );

const urlOf = (study: StudySpec, configuration: Configuration): string | undefined =>
  declaredFor(study, configuration).url;

function servingLines(study: StudySpec, configuration: Configuration, environment: Environment): readonly string[] {
  const declared = declaredFor(study, configuration);
  if (declared.url !== undefined) return [`# already running at ${declared.url}`];
  const engine = engineNamed(configuration.engine);
  const command = servingCommandOf(engine, study, configuration, firstPort);
  const lines = [shown(commandWords(shownAt(declared, command, environment)))];
  const added = measuringOf(engine, study, configuration, firstPort);
  if (added.argv.length > 0 || Object.keys(added.env).length > 0) {
    lines.push(`#   for measuring only: ${shown(commandWords({ argv: added.argv, env: added.env }))}`);
  }
  for (const [name, text] of Object.entries(added.files ?? {})) {
    const written = text.trimEnd().split('\n');
    lines.push(`#   ${name}, for measuring:`, ...written.map((line) => `#     ${line}`));
  }
  return lines;
}

/** Without secrets: the lines are for reading, and the study has them. */
const shown = (argv: readonly string[]): string => shellCommand(hideDeep(argv, (text) => hideSecrets(text)));

function loadOf(study: StudySpec, configuration: Configuration, workload: string): readonly string[] {
  const { engine, settings } = configuration;
  const { url = `http://127.0.0.1:${firstPort}`, served_model_name: named } = declaredFor(study, configuration);
  const model = engineNamed(engine).checkpoint?.(study.model, settings) ?? named ?? study.model;
  return loadCommand(new URL(url), model, workloadNamed(study, workload));
}
