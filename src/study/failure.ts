import type { Engine } from '../engines/engine.ts';
import type { Exit } from '../processes/supervisor.ts';
import { type Configuration, engineLabel, type Settings } from '../records/settings.ts';
import type { ChangedSetting, FinishedTrial } from '../records/trial.ts';
import type { Stall } from './start-watch.ts';

/** Log lines that are kept with a failed trial. */
export const keptLogLines = 40;

/** Lines before and after the one that tells the cause. */
const around = 2;

/** What a failed trial's row says. */
export interface Failure {
  readonly fate: Exclude<FinishedTrial['fate'], 'measured'>;
  readonly failure: NonNullable<FinishedTrial['failure']>;
  /** Another program was faster to the port: worth another try on another one. */
  readonly portTaken?: boolean;
}

/** What the moment of a failure suggests, before anybody has looked into the log. */
export interface Moment {
  readonly fate: Failure['fate'];
  readonly message: string;
  readonly hint?: string;
}

/** An engine that ended before it was ready; `words` say how. */
export function endedEarly({ code, signal }: Exit, words: string): Moment {
  const message = `the engine ended before it was ready (${words})`;
  // A shell, or a container's init, turns SIGKILL into 128 + 9. We send none to a start that nobody has given up.
  return code === 137 || signal === 'SIGKILL'
    ? {
        fate: 'start_failed',
        message,
        hint: 'it was killed from outside: mostly the system, when its memory ran out (see dmesg)',
      }
    : { fate: 'start_failed', message };
}

/** An engine in which nothing happens any more, and that is not ready. */
export const stalledWhile = ({ quietS, part, lastLine }: Stall, obstacle?: string): Moment => ({
  fate: 'hung',
  message: `no log line, no work and no growth of memory for ${Math.round(quietS)} s while ${doing[part]}${
    lastLine === '' ? '' : ` (last line: ${lastLine})`
  }${inTheWay(obstacle)}`,
  hint: 'see the engine log; raise limits.stall_timeout_s if it needs longer there',
});

const doing: Readonly<Record<Stall['part'], string>> = {
  starting: 'starting',
  loading: 'loading',
  compiling: 'compiling',
  capturing: 'capturing',
  'warming up': 'warming up',
  'first token': 'it should have sent a first token',
};

/** An engine that was not ready in time. */
export const lateAfter = (timeoutS: number, obstacle?: string): Moment => ({
  fate: 'timed_out',
  message: `not ready after ${timeoutS} s${inTheWay(obstacle)}`,
  hint: 'see the engine log; raise limits.start_timeout_s if it needs longer',
});

/** What a server said last when it was asked whether it serves. */
const inTheWay = (obstacle: string | undefined): string => (obstacle === undefined ? '' : `: ${obstacle}`);

/** What engines say of a failure of theirs that they have told before: never the cause. */
const wrapper = /Engine core initialization failed|Received sigquit from a child process|See stack trace \(above\)/;

/** The last line of a Python traceback. */
const exception = /(?:^|[\s\])])[A-Za-z_][\w.]*(?:Error|Exception): \S/;

/**
 * Gives a failure its name: a symptom of the engine that its log shows, else the fate that the moment suggests. The
 * message quotes the log line that matched, or the last exception that the log tells of.
 */
export function classify(engine: Pick<Engine, 'symptoms'>, otherwise: Moment, logTail: readonly string[]): Failure {
  const keptTail = logTail.slice(-keptLogLines);
  for (const symptom of engine.symptoms) {
    // The root cause is printed before what wraps it: the first match tells more than the last.
    const at = logTail.findIndex((line) => symptom.pattern.test(line) && !isOnlyWrapper(line, symptom.pattern));
    const line = logTail[at];
    if (line === undefined) continue;
    const fate =
      otherwise.fate === 'crashed_under_load' && symptom.fate === 'start_failed' ? otherwise.fate : symptom.fate;
    const suggestion = suggestionOf(symptom, line);
    return {
      fate,
      failure: {
        message: `${otherwise.message}: ${line.trim()}`,
        logTail: keptTail,
        hint: suggestion === undefined ? symptom.hint : `${symptom.hint}; the engine suggests ${words(suggestion)}`,
        fragment: fragmentAt(logTail, at),
        ...(suggestion === undefined ? {} : { suggestion }),
      },
      ...(symptom.portTaken ? { portTaken: true } : {}),
    };
  }
  const { fate, message, hint } = otherwise;
  // Without a symptom nobody knows; an exception of long before may have been dealt with, so only the last one is told.
  const at = logTail.findLastIndex((line) => exception.test(line) && !wrapper.test(line));
  const line = logTail[at]?.trim();
  return {
    fate,
    failure: {
      message: line === undefined ? message : `${message}: ${line}`,
      logTail: keptTail,
      ...(hint === undefined ? {} : { hint }),
      ...(line === undefined ? {} : { fragment: fragmentAt(logTail, at) }),
    },
  };
}

/** Whether nothing but the wrapper itself matches. */
const isOnlyWrapper = (line: string, pattern: RegExp): boolean =>
  wrapper.test(line) && !pattern.test(line.replace(wrapper, ''));

/** A line of a log with those around it, without what only wraps the cause. */
function fragmentAt(log: readonly string[], at: number): readonly string[] {
  return log
    .slice(Math.max(0, at - around), at + around + 1)
    .filter((line) => line.trim() !== '' && (line === log[at] || !wrapper.test(line)));
}

function suggestionOf({ pattern, corrected }: Engine['symptoms'][number], line: string): Settings | undefined {
  const match = corrected === undefined ? null : new RegExp(pattern.source, pattern.flags).exec(line);
  return match === null ? undefined : corrected?.(match);
}

const words = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/**
 * In which settings a configuration differs from the one that it was derived from: where to look when it fails and the
 * other one did not. An engine other than the parent's comes first, as `engine`.
 */
export function changedSettings(configuration: Configuration, parent: Configuration): readonly ChangedSetting[] {
  const [from, to] = [engineLabel(parent), engineLabel(configuration)];
  const engine: ChangedSetting[] = from === to ? [] : [{ name: 'engine', from, to }];
  const names = [...new Set([...Object.keys(parent.settings), ...Object.keys(configuration.settings)])];
  const settings = names.flatMap((name): ChangedSetting[] => {
    const before = parent.settings[name] ?? null;
    const after = configuration.settings[name] ?? null;
    return before === after ? [] : [{ name, from: before, to: after }];
  });
  return [...engine, ...settings];
}
