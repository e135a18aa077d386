import pc from 'picocolors';
import { shellCommand } from '../kit/shell.ts';
import { formatChange, formatNumber } from '../kit/words.ts';
import { metricUnit } from '../metrics/objective.ts';
import { configurationKey, configurationLabel } from '../records/settings.ts';
import { candidateOf, decide, objectiveWorkload } from '../search/decisions.ts';
import { compareScores } from '../search/noise.ts';
import { openStore } from '../store/store.ts';

/** What a finished study came to, for the terminal: the command to paste, the gain, and where the report is. */
export function conclusionLines(runDir: string, reports: readonly string[]): readonly string[] {
  using store = openStore(runDir, { readonly: true });
  const { study, space, trials } = store.runData();
  const { winner, baseline, noise } = decide(study, space, trials, true);
  const lines = [''];
  if (winner.value === null) {
    lines.push(
      pc.yellow('No configuration qualified:'),
      ...trials.map((t) => `  ${configurationLabel(t.configuration)}: ${t.fate}`),
    );
  } else {
    const command = winner.trials.findLast((t) => t.fate === 'measured')?.servingCommand ?? [];
    lines.push(pc.bold('Recommended'), `  ${shellCommand(command)}`, '');
    const same = configurationKey(winner.configuration) === configurationKey(space.baseline);
    const unit = metricUnit(study.objective.metric);
    lines.push(
      same
        ? 'This is the baseline: no configuration is significantly better.'
        : pc.bold(`${study.objective.metric.replaceAll('_', ' ')}, baseline → recommended`),
    );
    for (const workload of [...study.workloads].sort((a) => (a.name === objectiveWorkload(study) ? -1 : 0))) {
      const before = candidateOf(study, space.baseline, workload.name, trials);
      const after = candidateOf(study, winner.configuration, workload.name, trials);
      if (before.value === null || after.value === null || same) continue;
      const { ratio, low, high, significant } = compareScores(after.scores, before.scores, noise);
      const change = (r: number): string => formatChange(r, 'en');
      lines.push(
        `  ${workload.name.padEnd(16)} ${formatNumber(before.value, 'en', 1)} → ${formatNumber(after.value, 'en', 1)} ${unit}  ` +
          (significant
            ? `${pc.green(change(ratio))} (95 % interval ${change(low)} to ${change(high)})`
            : 'no significant difference'),
      );
    }
    if (baseline.value === null) lines.push(`  the baseline itself did not qualify: ${baseline.disqualified}`);
  }
  return [...lines, '', ...reports.map((path) => `  ${path}`)];
}
