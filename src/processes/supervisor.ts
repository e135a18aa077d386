import { openLog } from './log.ts';
import { newMark, withMark } from './mark.ts';
import type { Exit } from './messages.ts';
import { startWatched } from './watched.ts';

export type { Exit } from './messages.ts';

export interface ProcessSpec {
  readonly argv: readonly string[];
  /** The complete environment: nothing is inherited beside it, and only a mark is added (`mark.ts`). */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard output and error go here, straight from the program; appended, folders are created. */
  readonly logPath: string;
}

export interface Stopped {
  /** Of the program's first process; both fields null when it survived. */
  readonly exit: Exit;
  /** SIGKILL was needed. */
  readonly forced: boolean;
  /** Numbers of the processes that outlived even SIGKILL; whatever memory they hold is not free. */
  readonly survivors: readonly number[];
  readonly durationS: number;
}

/** A program that runs in a session of its own and cannot outlive this process. */
export interface Supervised extends AsyncDisposable {
  readonly pid: number;
  /** With `pid` names the process for good: see `ProcessIdentity`. */
  readonly startTime: string;
  /** In the environment of all that it starts (`mark.ts`); absent of what was not started here. */
  readonly mark?: string;
  /**
   * When the program's first process has ended; never rejects. What it leaves behind is being ended then; `stop` waits
   * for that. When the watchdog itself was killed, the program is ended, too: the log and `watchdogLost` say so, and
   * the exit has the signal that we sent.
   */
  readonly exited: Promise<Exit>;
  /** The last lines of its output, without terminal codes. */
  logTail(lines: number): readonly string[];
  /**
   * Ends the program and all that descends from it: SIGTERM, after `graceS` seconds (default 5) SIGKILL, then waits
   * until all are gone. May be called at any time, also when it has ended by itself; all calls share one result, and a
   * later one can only shorten the grace.
   */
  stop(graceS?: number): Promise<Stopped>;
}

/**
 * Starts a program under a watchdog, which ends the program's whole tree within 5 s when this process is gone, however
 * it went. Resolves as soon as the program runs; whether it is ready is the caller's question.
 * Throws a ServetuneError, with nothing left running: `program_not_found`, `program_not_executable`,
 * `no_such_directory`, `disk_full`, `log_not_writable`, `start_failed`.
 */
export async function supervise(spec: ProcessSpec): Promise<Supervised> {
  using log = openLog(spec.logPath);
  const mark = newMark();
  const watched = await startWatched({ ...spec, env: withMark(spec.env, mark), mark }, log);
  const stop = (graceS = 5): Promise<Stopped> => watched.end(graceS);
  return {
    pid: watched.pid,
    startTime: watched.startTime,
    mark,
    exited: watched.exited,
    logTail: log.tail,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
