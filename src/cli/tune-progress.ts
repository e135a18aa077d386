import pc from 'picocolors';
import { now } from '../kit/clock.ts';
import { formatDuration, formatNumber } from '../kit/words.ts';
import { metricUnit, objectiveValue } from '../metrics/objective.ts';
import { type Configuration, configurationLabel } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial } from '../records/trial.ts';
import { isSimulated } from '../study/simulated/study.ts';
import type { TuneEvents, TuneProgress } from '../study/tune.ts';
import type { PhaseProgress } from '../study/workload.ts';
import type { Terminal } from './terminal.ts';

/** Shows a study as it goes: one line that changes for what is being done, one line that stays for each trial. */
export function progressReporter(terminal: Terminal): TuneEvents {
  let study: StudySpec | undefined;
  let progress: TuneProgress = { finishedTrials: 0, expectedTrials: 0, remainingS: null };
  let toldAt = now();
  const take = (told: TuneProgress): void => {
    progress = told;
    toldAt = now();
  };
  /** Ticks down between two tellings. */
  const timeLeft = (): string => {
    if (progress.remainingS === null) return '';
    const leftS = progress.remainingS - (now() - toldAt);
    return leftS < 5 ? 'nearly done' : `about ${formatDuration(rounded(leftS), 'en')} left`;
  };
  const ordinal = (id: number): string => `[${String(id).padStart(2)}/${Math.max(id, progress.expectedTrials)}]`;

  return {
    onBegin(run) {
      study = run.study;
      const { stages, workloads } = run.study;
      const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
      terminal.note(
        `study ${pc.bold(run.study.name)}: ${run.study.model}, ${count(stages.length, 'stage')}, ${count(workloads.length, 'workload')}`,
      );
      if (isSimulated(run.study)) {
        const { gpu, count: gpus } = run.study.hardware ?? { gpu: 'unknown hardware', count: 1 };
        terminal.note(pc.yellow(`simulated on ${gpus} x ${gpu}: no engine is started, every figure is predicted`));
      }
      if (run.nothingToResume) terminal.note('there is no run to resume: a new one begins');
      if (run.resumed > 0 || run.forgotten > 0) {
        const lost = run.forgotten > 0 ? `; ${count(run.forgotten, 'unfinished trial')} will be measured again` : '';
        terminal.note(`resumed: ${count(run.resumed, 'trial')} kept${lost}`);
      }
    },
    onPrepare: (what) => terminal.note(what),
    onProposal(proposal, told) {
      take(told);
      terminal.note(pc.dim(`  ${proposal.reason}`));
    },
    onPhase(trial, phase, load) {
      // Once the user has said stop, what the dropped requests look like is of no interest.
      if (terminal.signal.aborted) return terminal.status('stopping');
      // What changes comes first: a narrow terminal cuts the end.
      const parts = [
        ordinal(trial.id),
        study && isSimulated(study) ? 'simulating' : load ? `${phase}: ${loadText(load)}` : phase,
        timeLeft(),
        trial.stage === undefined ? trial.purpose.replaceAll('_', ' ') : `stage ${trial.stage}`,
        settingsOf(trial.configuration),
        trial.workload,
      ];
      terminal.status(parts.filter(Boolean).join(' · '));
    },
    onFinished(trial, told) {
      take(told);
      const left = terminal.interactive ? '' : pc.dim(`  ${timeLeft()}`);
      terminal.note(`${ordinal(trial.id)} ${trialLine(study, trial)}${left}`.trimEnd());
    },
  };
}

/** To five seconds, and to half a minute where it is long: the estimate is no better. */
const rounded = (durationS: number): number => {
  const step = durationS > 300 ? 30 : 5;
  return Math.max(step, Math.round(durationS / step) * step);
};

const loadText = (progress: PhaseProgress): string => {
  if ('made' in progress) return `${progress.made} of ${progress.of}`;
  const { ok, failed, running, tokensPerS } = progress;
  return `${ok} done${failed > 0 ? `, ${failed} failed` : ''}, ${running} running, ${Math.round(tokensPerS)} output tok/s`;
};

const settingsOf = ({ settings }: Configuration): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** One finished trial: what it was, and what came of it. */
function trialLine(study: StudySpec | undefined, trial: FinishedTrial): string {
  const what = `${configurationLabel(trial.configuration)} ${pc.dim(trial.workload)}`;
  if (trial.fate !== 'measured' || !trial.summary || !study) {
    const hint = trial.failure?.hint === undefined ? '' : ` (${trial.failure.hint})`;
    return `${what}: ${pc.yellow(trial.fate.replaceAll('_', ' '))}: ${trial.failure?.message ?? ''}${hint}`;
  }
  const { summary, simulated } = trial;
  const { metric } = study.objective;
  const value = objectiveValue(summary, metric);
  const shown = value === null ? '–' : `${formatNumber(value, 'en', 1)} ${metricUnit(metric)}`;
  const ms = (name: string): string => {
    const mean = summary.latencies[name]?.mean;
    return mean === null || mean === undefined ? '–' : `${(mean * 1000).toFixed(1)} ms`;
  };
  return `${what}: ${pc.bold(shown)} (${simulated ? 'simulated ' : ''}${metric.replaceAll('_', ' ')}), TTFT ${ms('ttft')}, TPOT ${ms('tpot')}, ${summary.ok} requests in ${summary.durationS.toFixed(1)} s`;
}
