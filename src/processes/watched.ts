import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { now } from '../kit/clock.ts';
import { messageOf, ServetuneError } from '../kit/errors.ts';
import { endFamily, killWaitS } from './ending.ts';
import { trackFamily, writersTo } from './family.ts';
import type { Ended, Exit, Notice, Order } from './messages.ts';
import { findProgram } from './programs.ts';
import type { ProcessIdentity } from './tree.ts';

/** A command line with its complete environment: nothing is inherited beside it. */
export interface ProgramStart {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** That is in `env` (`withMark`); all that it starts is then found at the end, wherever it went. */
  readonly mark?: string;
}

/** A running program with a watchdog over it. */
export interface Watched extends ProcessIdentity {
  /** When the first process has ended. Never rejects. */
  readonly exited: Promise<Exit>;
  /** When all that it started is gone, too. Never rejects. */
  readonly ended: Promise<Ended>;
  /** Ends all of it; called again it can only shorten the grace. */
  end(graceS: number): Promise<Ended>;
  /** Null unless the output goes to pipes. */
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
}

/**
 * The same file whether this module runs as `src/processes/watched.ts` (in tests) or as `dist/processes/watched.js`:
 * Node cannot run TypeScript, so the watchdog is always the compiled one.
 */
export const watchdogPath = fileURLToPath(new URL('../../dist/processes/watchdog.js', import.meta.url));

/** The watchdog makes little garbage, but would let it pile up over the hours that an engine runs. */
const watchdogFlags = ['--max-semi-space-size=1'];

const noExit: Exit = { code: null, signal: null };
const lostGraceS = 2;

/**
 * Starts a program under a watchdog: however this process ends, the program and all that descends from it end, too.
 * The output goes to the open file `fd` (whose path is `path`), or to pipes.
 * Throws a ServetuneError: `program_not_found`, `program_not_executable`, `no_such_directory`, `start_failed`.
 */
export async function startWatched(
  program: ProgramStart,
  output: 'pipes' | { readonly fd: number; readonly path: string; note(text: string): void },
): Promise<Watched> {
  if (!existsSync(watchdogPath)) {
    throw new ServetuneError('not_built', `${watchdogPath} does not exist`, { hint: 'run: npm run build' });
  }
  const sink = output === 'pipes' ? 'pipe' : output.fd;
  // Detached, so that Ctrl-C in the terminal does not end the watchdog before its owner has decided what to do.
  const watchdog = spawn(process.execPath, [...watchdogFlags, watchdogPath], {
    env: {},
    detached: true,
    stdio: ['ignore', sink, sink, 'ipc'],
  });
  const marked = program.mark === undefined ? {} : { mark: program.mark };
  const exited = deferred<Exit>();
  const ended = deferred<Ended>();
  const started = deferred<ProcessIdentity>();
  let members: readonly ProcessIdentity[] = [];
  let graceEndsAt = Number.POSITIVE_INFINITY;
  let isOver = false;
  /** Whether the program was started, or could not be, is known. */
  let announced = false;

  function finish(result: Ended): void {
    isOver = true;
    exited.resolve(result.exit);
    ended.resolve(result);
  }

  /** The watchdog was killed: nobody but us knows the family now, and nobody can see how the program ends. */
  async function takeOver(root: ProcessIdentity): Promise<void> {
    if (output !== 'pipes') output.note('the watchdog of this program is gone; ending the program');
    graceEndsAt = Math.min(graceEndsAt, now() + lostGraceS);
    const ending = await endFamily(trackFamily(root, { known: members, ...marked }), () => graceEndsAt);
    const exit = ending.survivors.includes(root.pid)
      ? noExit
      : { code: null, signal: ending.forced ? 'SIGKILL' : 'SIGTERM' };
    finish({ ...ending, exit: { ...exit, watchdogLost: true } });
  }

  watchdog.on('message', (notice: Notice) => {
    announced ||= notice.kind === 'started' || notice.kind === 'not_started';
    if (notice.kind === 'started') started.resolve({ pid: notice.pid, startTime: notice.startTime });
    else if (notice.kind === 'not_started') started.reject(startError(program, notice.systemCode, notice.message));
    else if (notice.kind === 'members') members = notice.members;
    else if (notice.kind === 'exited') exited.resolve(notice.exit);
    else finish(notice.ended);
  });
  watchdog.on('error', (error) => started.reject(startError(program, null, messageOf(error))));
  // Comes after every message that was on its way.
  watchdog.once('disconnect', () => {
    if (announced) {
      if (!isOver) started.promise.then(takeOver).catch(() => undefined);
      return;
    }
    // It may have started the program already: what writes to the program's log is the program.
    const strays = output === 'pipes' ? [] : writersTo(output.path).filter(({ pid }) => pid !== watchdog.pid);
    const graceEnd = now() + lostGraceS;
    Promise.all(strays.map((stray) => endFamily(trackFamily(stray, marked), () => graceEnd))).finally(() =>
      started.reject(
        new ServetuneError('watchdog_lost', `the watchdog of ${program.argv[0]} was killed while it started it`, {
          hint: 'start again; a study goes on with --resume',
        }),
      ),
    );
  });
  send(watchdog, {
    kind: 'start',
    argv: program.argv,
    env: program.env,
    cwd: program.cwd,
    outputPath: output === 'pipes' ? undefined : output.path,
    mark: program.mark,
  });

  const root = await started.promise;
  return {
    ...root,
    exited: exited.promise,
    ended: ended.promise,
    stdout: watchdog.stdout,
    stderr: watchdog.stderr,
    async end(graceS) {
      graceEndsAt = Math.min(graceEndsAt, now() + graceS);
      if (!isOver) send(watchdog, { kind: 'end', graceS });
      // Should the watchdog itself hang, its death makes us do its work.
      const patience = setTimeout(() => watchdog.kill('SIGKILL'), (graceS + killWaitS + 5) * 1000);
      try {
        return await ended.promise;
      } finally {
        clearTimeout(patience);
      }
    },
  };
}

function send(watchdog: ChildProcess, order: Order): void {
  // An order that cannot be delivered needs no answer here: the channel's closing is what tells.
  if (watchdog.connected) watchdog.send(order, () => undefined);
}

function startError({ argv, env, cwd }: ProgramStart, systemCode: string | null, message: string): ServetuneError {
  const name = argv[0] ?? '';
  if (cwd !== undefined && !existsSync(cwd)) {
    return new ServetuneError('no_such_directory', `${name} cannot be started in ${cwd}: there is no such directory`, {
      hint: 'create the directory, or name another',
    });
  }
  if (systemCode === 'ENOENT') {
    const found = findProgram(name, env.PATH, cwd);
    return found === null
      ? new ServetuneError('program_not_found', `${name} is not installed, or not on PATH`, {
          hint: `install ${name}, or put the folder that holds it on PATH (in a Python environment: activate it)`,
        })
      : new ServetuneError('program_not_found', `${found} names an interpreter in its first line that does not exist`, {
          hint: `install ${name} again: the Python environment that it was made for was moved or removed`,
        });
  }
  if (systemCode === 'EACCES') {
    return new ServetuneError('program_not_executable', `${name} may not be executed`, {
      hint: `make it executable (chmod +x), or look whether its folder is readable`,
    });
  }
  return new ServetuneError('start_failed', `${name} could not be started: ${message}`, {
    hint: 'look at the limits of processes and memory (ulimit -a) and at the free memory',
  });
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
