import { commandWords } from '../hosts/host.ts';
import { shellCommand } from '../kit/shell.ts';
import { type Configuration, configurationLabel } from '../records/settings.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import { objectiveWorkload } from '../search/decisions.ts';
import { loadCommand } from '../study/load-command.ts';
import { engineNamed } from '../study/places.ts';
import { firstPort, measuringOf, servingCommandOf } from '../study/running-engine.ts';
import { spanned } from '../study/span.ts';
import { workloadNamed } from '../study/trial.ts';

/**
 * Every command that a study would start, as lines. Alternatives of later stages are shown on top of the baseline; in the
 * run they stand on top of what the stages before have chosen. The load that decides stands below each.
 */
export function dryRun(study: StudySpec, space: SearchSpace): readonly string[] {
  const baseUrl = new URL(`http://127.0.0.1:${firstPort}`);
  const deciding = objectiveWorkload(study);
  const loadOf = ({ engine, settings }: Configuration, name: string): readonly string[] => {
    const model = engineNamed(engine).checkpoint?.(study.model, settings) ?? study.model;
    return loadCommand(baseUrl, model, workloadNamed(study, name));
  };
  const lines: string[] = [];
  for (const { configuration, stage } of spanned(space)) {
    const engine = engineNamed(configuration.engine);
    const command = servingCommandOf(engine, study, configuration, firstPort);
    lines.push(`# ${stage ?? 'baseline'}: ${configurationLabel(configuration)}`, shellCommand(commandWords(command)));
    const added = measuringOf(engine, study, configuration, firstPort);
    if (added.argv.length > 0 || Object.keys(added.env).length > 0 || added.files) {
      lines.push(`#   for measuring only: ${shellCommand(commandWords({ argv: added.argv, env: added.env }))}`);
      for (const [name, text] of Object.entries(added.files ?? {})) {
        lines.push(
          `#   ${name}, for measuring:`,
          ...text
            .trimEnd()
            .split('\n')
            .map((line) => `#     ${line}`),
        );
      }
    }
    lines.push(`#   load: ${deciding}`, shellCommand(loadOf(configuration, deciding)), '');
  }
  for (const { name } of study.workloads) {
    if (name === deciding) continue;
    lines.push(`# load on baseline and winner: ${name}`, shellCommand(loadOf(space.baseline, name)), '');
  }
  return lines;
}
