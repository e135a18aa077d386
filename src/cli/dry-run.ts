import { commandWords } from '../hosts/host.ts';
import { shellCommand } from '../kit/shell.ts';
import { configurationLabel } from '../records/settings.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import { loadCommand } from '../study/load-command.ts';
import { engineNamed } from '../study/resolve.ts';
import { firstPort, servingCommandOf } from '../study/running-engine.ts';
import { spanned } from '../study/span.ts';

/**
 * Every command that a study would start, as lines. Alternatives of later stages are shown on top of the baseline; in the
 * run they stand on top of what the stages before have chosen.
 */
export function dryRun(study: StudySpec, space: SearchSpace): readonly string[] {
  const baseUrl = new URL(`http://127.0.0.1:${firstPort}`);
  const lines: string[] = [];
  for (const { configuration, stage } of spanned(space)) {
    const engine = engineNamed(configuration.engine);
    const command = servingCommandOf(engine, study, configuration, firstPort);
    lines.push(`# ${stage ?? 'baseline'}: ${configurationLabel(configuration)}`, shellCommand(commandWords(command)));
    if (engine.measuring) lines.push(`#   for measuring only: ${shellCommand(commandWords(engine.measuring))}`);
    lines.push('');
  }
  for (const workload of study.workloads) {
    lines.push(`# load: ${workload.name}`, shellCommand(loadCommand(baseUrl, study.model, workload)), '');
  }
  return lines;
}
