import pc from 'picocolors';
import { formatDuration, formatNumber } from '../kit/words.ts';
import { objectiveValue } from '../metrics/objective.ts';
import { configurationLabel } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial } from '../records/trial.ts';
import type { TuneEvents, TuneProgress } from '../study/tune.ts';
import { progressText } from './bench-serve.ts';
import type { Terminal } from './terminal.ts';

/** Shows a study as it goes: one line that changes for what is being done, one line that stays for each trial. */
export function progressReporter(terminal: Terminal): TuneEvents {
  let study: StudySpec | undefined;
  let progress: TuneProgress = { finishedTrials: 0, expectedTrials: 0, remainingS: null };
  return {
    onBegin(run) {
      study = run.study;
      const { stages, workloads } = run.study;
      const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
      terminal.note(
        `study ${pc.bold(run.study.name)}: ${run.study.model}, ${count(stages.length, 'stage')}, ${count(workloads.length, 'workload')}`,
      );
      if (run.nothingToResume) terminal.note('there is no run to resume: a new one begins');
      if (run.resumed > 0 || run.forgotten > 0) {
        const lost = run.forgotten > 0 ? `; ${count(run.forgotten, 'unfinished trial')} will be measured again` : '';
        terminal.note(`resumed: ${count(run.resumed, 'trial')} kept${lost}`);
      }
    },
    onPrepare: (what) => terminal.note(what),
    onProposal(proposal, now) {
      progress = now;
      terminal.note(pc.dim(`  ${proposal.reason}`));
    },
    onPhase(trial, phase, load) {
      terminal.status(
        [
          ordinal(trial.id, progress),
          trial.stage ?? trial.purpose.replaceAll('_', ' '),
          configurationLabel(trial.configuration),
          trial.workload,
          load ? `${phase}: ${progressText(load)}` : phase,
          timeLeft(progress),
        ]
          .filter(Boolean)
          .join('  '),
      );
    },
    onFinished(trial, now) {
      progress = now;
      const left = terminal.interactive ? '' : `  ${timeLeft(now)}`;
      terminal.note(`${ordinal(trial.id, now)} ${trialLine(study, trial)}${left}`.trimEnd());
    },
  };
}

const ordinal = (id: number, { expectedTrials }: TuneProgress): string =>
  `[${String(id).padStart(2)}/${Math.max(id, expectedTrials)}]`;

const timeLeft = ({ remainingS }: TuneProgress): string =>
  remainingS === null
    ? ''
    : remainingS <= 0
      ? 'nearly done'
      : `about ${formatDuration(Math.max(1, Math.round(remainingS)), 'en')} left`;

/** One finished trial: what it was, and what came of it. */
function trialLine(study: StudySpec | undefined, trial: FinishedTrial): string {
  const what = `${configurationLabel(trial.configuration)} ${pc.dim(trial.workload)}`;
  if (trial.fate !== 'measured' || !trial.summary || !study) {
    const hint = trial.failure?.hint === undefined ? '' : ` (${trial.failure.hint})`;
    return `${what}: ${pc.yellow(trial.fate.replaceAll('_', ' '))}: ${trial.failure?.message ?? ''}${hint}`;
  }
  const { summary } = trial;
  const value = objectiveValue(summary, study.objective.metric);
  const ms = (name: string): string => {
    const mean = summary.latencies[name]?.mean;
    return mean === null || mean === undefined ? '–' : `${(mean * 1000).toFixed(1)} ms`;
  };
  return `${what}: ${pc.bold(value === null ? '–' : formatNumber(value, 'en', 1))} ${study.objective.metric.replaceAll('_', ' ')}, TTFT ${ms('ttft')}, TPOT ${ms('tpot')}, ${summary.ok} requests in ${summary.durationS.toFixed(1)} s`;
}
