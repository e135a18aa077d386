import { now } from '../../kit/clock.ts';
import { formatDuration, formatNumber } from '../../kit/words.ts';
import type { LoadProgress } from '../../load/progress.ts';
import type { Terminal } from '../terminal.ts';

/** What a phase has got to: prompts made, or requests sent. */
export type PhaseProgress = LoadProgress | { readonly made: number; readonly of: number };

/** Shows how far a load is. */
export interface Progress {
  /** What is being done, and how far it is. */
  show(phase: string, progress?: PhaseProgress): void;
  /** Takes the changing line away. */
  end(): void;
}

export interface ProgressOptions {
  /** Nothing is shown (`--disable-tqdm`). */
  readonly quiet: boolean;
  /** How long a load by time goes on; 0 for one by count. */
  readonly minDurationS?: number;
  /** Seconds on a monotonic clock. */
  readonly clock?: () => number;
}

/** Time between two lines where nothing can be redrawn, seconds. */
const linePauseS = 10;
/** Least time between two such lines when something new begins, seconds. */
const leastPauseS = 1;

/**
 * Progress on a terminal: one line that changes. Elsewhere, in a log, a line when a phase begins and one every ten
 * seconds, never two within a second.
 */
export function benchProgress(
  terminal: Pick<Terminal, 'interactive' | 'status' | 'note'>,
  { quiet, minDurationS = 0, clock = now }: ProgressOptions,
): Progress {
  if (quiet) return { show() {}, end() {} };
  if (terminal.interactive) {
    return {
      show: (phase, progress) => terminal.status(progressLine(phase, progress, minDurationS)),
      end: () => terminal.status(''),
    };
  }
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writtenPhase = '';
  return {
    show(phase, progress) {
      const pauseS = clock() - writtenAt;
      if (pauseS < (phase === writtenPhase ? linePauseS : leastPauseS)) return;
      writtenAt = clock();
      writtenPhase = phase;
      terminal.note(progressLine(phase, progress, minDurationS));
    },
    end() {},
  };
}

/** One line: the phase, requests done, failed and running, tokens a second now, time left. */
export function progressLine(phase: string, progress: PhaseProgress | undefined, minDurationS = 0): string {
  if (!progress) return phase;
  const count = (value: number): string => formatNumber(value, 'en');
  if ('made' in progress) return `${phase}: ${count(progress.made)}/${count(progress.of)}`;
  const { ok, failed, running, tokensPerS, total } = progress;
  const leftS = remainingS(progress, minDurationS);
  return `${phase}: ${[
    `${count(ok)}${total === null ? '' : `/${count(total)}`} done`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    `${count(running)} running`,
    `${count(Math.round(tokensPerS))} output tok/s`,
    ...(leftS === null ? [] : [`about ${formatDuration(leftS, 'en')} left`]),
  ].join(', ')}`;
}

/** Requests that must have ended before a guess is worth showing. */
const enough = 3;

/**
 * How long a load goes on, by what is done: time so far a request that has ended, for those that have not. Whole seconds;
 * null as long as nothing can be said.
 */
export function remainingS({ ok, failed, elapsedS, total }: LoadProgress, minDurationS: number): number | null {
  const ended = ok + failed;
  const byTimeS = Math.max(0, minDurationS - elapsedS);
  if (total === null) return minDurationS > 0 ? Math.ceil(byTimeS) : null;
  if (ended < enough || elapsedS <= 0) return null;
  return Math.ceil(Math.max(0, (elapsedS * (total - ended)) / ended));
}
