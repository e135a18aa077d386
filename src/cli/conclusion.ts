import pc from 'picocolors';
import { shellCommand } from '../kit/shell.ts';
import { formatChange, formatNumber } from '../kit/words.ts';
import { metricUnit } from '../metrics/objective.ts';
import { configurationKey, configurationLabel } from '../records/settings.ts';
import type { ObjectiveMetric } from '../records/study.ts';
import { candidateOf, decide, objectiveWorkload } from '../search/decisions.ts';
import { type Comparison, compareScores } from '../search/noise.ts';
import { openStore } from '../store/store.ts';

/** What a finished study came to. */
export interface Conclusion {
  readonly metric: ObjectiveMetric;
  /** Absent when no configuration qualified. */
  readonly recommended?: {
    readonly configuration: string;
    readonly command: readonly string[];
    readonly isBaseline: boolean;
  };
  /** Baseline against recommended, by workload, the deciding one first; the ratio is better-is-larger. */
  readonly workloads: readonly ({
    readonly workload: string;
    readonly baseline: number;
    readonly optimized: number;
  } & Comparison)[];
  /** Stages in which the budget left no alternative to be tried. */
  readonly untried?: readonly string[];
  /** What became of each configuration, when none qualified; why the baseline did not, when others did. */
  readonly failures: readonly string[];
}

export function conclude(runDir: string): Conclusion {
  using store = openStore(runDir, { readonly: true });
  const { study, space, trials } = store.runData();
  const { winner, baseline, noise, stages } = decide(study, space, trials, true);
  const { metric } = study.objective;
  if (winner.value === null) {
    const all = [baseline, ...stages.flatMap((stage) => stage.challengers)];
    const failures = all.map((c) => `${configurationLabel(c.configuration)}: ${c.disqualified}`);
    return { metric, workloads: [], failures: [...new Set(failures)] };
  }
  const isBaseline = configurationKey(winner.configuration) === configurationKey(space.baseline);
  const first = objectiveWorkload(study);
  const names = [first, ...study.workloads.map((w) => w.name).filter((name) => name !== first)];
  return {
    metric,
    recommended: {
      configuration: configurationLabel(winner.configuration),
      command: winner.trials.findLast((t) => t.fate === 'measured')?.servingCommand ?? [],
      isBaseline,
    },
    workloads: names.flatMap((workload) => {
      const before = candidateOf(study, space.baseline, workload, trials);
      const after = candidateOf(study, winner.configuration, workload, trials);
      if (isBaseline || before.value === null || after.value === null) return [];
      const comparison = compareScores(after.scores, before.scores, noise);
      return [{ workload, baseline: before.value, optimized: after.value, ...comparison }];
    }),
    untried: stages.filter((s) => s.verdict === 'not_tried').map((s) => s.name),
    failures: baseline.value === null ? [`the baseline did not qualify: ${baseline.disqualified}`] : [],
  };
}

/** The same for the terminal: the command to paste, the gain, and where the report is. */
export function conclusionLines(conclusion: Conclusion, reports: readonly string[]): readonly string[] {
  const { recommended, metric, workloads, failures, untried = [] } = conclusion;
  const lines = [''];
  if (recommended) {
    // A server that somebody else started has no command of ours.
    const command = recommended.command.length > 0 ? shellCommand(recommended.command) : 'the server as it runs';
    lines.push(pc.bold('Recommended'), `  ${command}`, '');
    if (untried.length > 0)
      lines.push(pc.yellow(`The budget ended before anything was tried in stage ${untried.join(', ')}.`));
    if (recommended.isBaseline) {
      lines.push(`This is the baseline: no configuration that was tried is significantly better.`);
    }
  } else lines.push(pc.yellow('No configuration qualified:'));
  if (workloads.length > 0) lines.push(pc.bold(`${metric.replaceAll('_', ' ')}, baseline → recommended`));
  const change = (ratio: number): string => formatChange(ratio, 'en');
  for (const { workload, baseline, optimized, ratio, low, high, significant } of workloads) {
    lines.push(
      `  ${workload.padEnd(16)} ${formatNumber(baseline, 'en', 1)} → ${formatNumber(optimized, 'en', 1)} ${metricUnit(metric)}  ` +
        (significant
          ? `${pc.green(change(ratio))} (95 % interval ${change(low)} to ${change(high)})`
          : 'no significant difference'),
    );
  }
  return [...lines, ...failures.map((f) => `  ${f}`), '', ...reports.map((path) => `  ${path}`)];
}
