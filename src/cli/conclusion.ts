import pc from 'picocolors';
import { en } from '../i18n/en.ts';
import { shellCommand } from '../kit/shell.ts';
import { formatChange, formatNumber } from '../kit/words.ts';
import { metricUnit } from '../metrics/objective.ts';
import { configurationKey, configurationLabel } from '../records/settings.ts';
import type { ObjectiveMetric } from '../records/study.ts';
import { isAttached, type Recheck } from '../report/info.ts';
import { qualityOf } from '../report/quality.ts';
import { candidateOf, decide, objectiveWorkload } from '../search/decisions.ts';
import { type Comparison, compareScores } from '../search/noise.ts';
import { openStore } from '../store/store.ts';

/** What a finished study came to. */
export interface Conclusion {
  /** Every figure is predicted. */
  readonly simulated: boolean;
  /** Predicted without a fit to measurements. */
  readonly uncalibrated?: true;
  readonly metric: ObjectiveMetric;
  /** Absent when no configuration qualified. */
  readonly recommended?: {
    readonly configuration: string;
    readonly command: readonly string[];
    readonly isBaseline: boolean;
    /** A server that somebody else started: it has no command of ours. */
    readonly isAttached: boolean;
  };
  /** Baseline against recommended, by workload, the deciding one first; the ratio is better-is-larger. */
  readonly workloads: readonly ({
    readonly workload: string;
    readonly baseline: number;
    readonly optimized: number;
  } & Comparison)[];
  /** Stages in which the budget left no alternative to be tried. */
  readonly untried?: readonly string[];
  /** What was found later and speaks against the verdict, by more than noise; each is of the metric itself. */
  readonly doubts: readonly Doubt[];
  /** What became of each configuration, when none qualified; why the baseline did not, when others did. */
  readonly failures: readonly string[];
}

/** A measurement that was made again at the end, and did not give what it gave before. */
export interface Doubt {
  /** `drift`: the baseline did not; `confirmation`: the recommended configuration did not. */
  readonly what: 'drift' | 'confirmation';
  readonly before: number;
  readonly after: number;
}

export function conclude(runDir: string): Conclusion {
  using store = openStore(runDir, { readonly: true });
  const run = store.runData();
  const { study, space, trials } = run;
  const simulated = { simulated: run.simulated, ...(run.uncalibrated ? { uncalibrated: run.uncalibrated } : {}) };
  const decisions = decide(study, space, trials, true);
  const { winner, baseline, noise, stages } = decisions;
  const { metric } = study.objective;
  if (winner.value === null) {
    const all = [baseline, ...stages.flatMap((stage) => stage.challengers)];
    const failures = all.map((c) => `${configurationLabel(c.configuration)}: ${c.disqualified}`);
    return { ...simulated, metric, workloads: [], doubts: [], failures: [...new Set(failures)] };
  }
  const { drift, confirmation } = qualityOf(run, decisions);
  const isBaseline = configurationKey(winner.configuration) === configurationKey(space.baseline);
  const first = objectiveWorkload(study);
  const names = [first, ...study.workloads.map((w) => w.name).filter((name) => name !== first)];
  return {
    ...simulated,
    metric,
    recommended: {
      configuration: configurationLabel(winner.configuration),
      command: winner.trials.findLast((t) => t.fate === 'measured')?.servingCommand ?? [],
      isBaseline,
      isAttached: isAttached(winner.configuration),
    },
    doubts: [...doubtIn('drift', drift), ...doubtIn('confirmation', confirmation)],
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

function doubtIn(what: Doubt['what'], recheck: Recheck | null): readonly Doubt[] {
  if (!recheck?.change || recheck.change.verdict === 'no_significant_difference') return [];
  const { value, against } = recheck;
  return value === null || against === null ? [] : [{ what, before: against, after: value }];
}

/** The same for the terminal: the command to paste, the gain, and where the report is. */
export function conclusionLines(conclusion: Conclusion, reports: readonly string[]): readonly string[] {
  const { recommended, metric, workloads, doubts, failures, untried = [], simulated } = conclusion;
  const mark = simulated ? ' (simulated)' : '';
  const lines = [
    '',
    ...(simulated
      ? [pc.yellow(`${en.simulated.banner}${conclusion.uncalibrated ? ` ${en.simulated.uncalibrated}` : ''}`), '']
      : []),
  ];
  if (recommended) {
    const command = recommended.isAttached ? 'the server as it runs' : shellCommand(recommended.command);
    lines.push(pc.bold(`Recommended${mark}`), `  ${command}`, '');
    if (untried.length > 0)
      lines.push(pc.yellow(`The budget ended before anything was tried in stage ${untried.join(', ')}.`));
    if (recommended.isBaseline) {
      lines.push(`This is the baseline: no configuration that was tried is significantly better.`);
    }
  } else lines.push(pc.yellow('No configuration qualified:'));
  if (workloads.length > 0) lines.push(pc.bold(`${metric.replaceAll('_', ' ')}, baseline → recommended${mark}`));
  const change = (ratio: number): string => formatChange(ratio, 'en');
  for (const { workload, baseline, optimized, ratio, low, high, significant } of workloads) {
    lines.push(
      `  ${workload.padEnd(16)} ${formatNumber(baseline, 'en', 1)} → ${formatNumber(optimized, 'en', 1)} ${metricUnit(metric)}  ` +
        (significant
          ? `${pc.green(change(ratio))} (95 % interval ${change(low)} to ${change(high)})`
          : 'no significant difference'),
    );
  }
  lines.push(...doubts.map((doubt) => pc.yellow(doubtLine(doubt, metric))));
  return [...lines, ...failures.map((f) => `  ${f}`), '', ...reports.map((path) => `  ${path}`)];
}

function doubtLine({ what, before, after }: Doubt, metric: ObjectiveMetric): string {
  const figure = (value: number): string => `${formatNumber(value, 'en', 1)} ${metricUnit(metric)}`;
  const figures = `${figure(before)} at first, ${figure(after)} at last (${formatChange(after / before, 'en')}), more than noise explains`;
  return what === 'drift'
    ? `The machine drifted: the baseline gave ${figures}. Differences of that size may be drift.`
    : `The recommendation was not confirmed: it gave ${figures}.`;
}
