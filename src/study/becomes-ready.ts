import type { Engine } from '../engines/engine.ts';
import { ServetuneError } from '../kit/errors.ts';
import type { Exit, Supervised } from '../processes/supervisor.ts';
import { classify, endedEarly, type Failure, lateAfter, stalledWhile } from './failure.ts';
import { followObstacles, NotServing, type Obstacles } from './obstacle.ts';
import { waitUntilReady } from './ready.ts';
import type { Stall, StartWatch } from './start-watch.ts';
import type { ServedModel } from './target.ts';

/** The served model's name, or how the start failed. */
export async function becomesReady(
  engine: Engine,
  engineProcess: Supervised,
  baseUrl: URL,
  timeoutS: number,
  signal: AbortSignal,
  watch: Pick<StartWatch, 'healthy' | 'generates'> &
    Partial<Pick<StartWatch, 'stalled'>> & {
      nameIn?(served: readonly ServedModel[]): string;
      readonly obstacles?: Obstacles;
    },
): Promise<string | Failure> {
  const { obstacles = followObstacles() } = watch;
  const own = new AbortController();
  const stalls: Stall[] = [];
  const exited = engineProcess.exited.then((exit) => {
    own.abort();
    return exit;
  });
  watch.stalled?.then((stall) => {
    stalls.push(stall);
    own.abort();
  });
  const timer = setTimeout(() => own.abort(), timeoutS * 1000);
  try {
    const both = AbortSignal.any([signal, own.signal]);
    const { model, refused } = await waitUntilReady(
      baseUrl,
      engine.healthPath,
      both,
      watch.healthy,
      watch.nameIn,
      obstacles,
    );
    watch.generates(refused);
    return model;
  } catch (error) {
    signal.throwIfAborted();
    if (!own.signal.aborted && !(error instanceof NotServing)) throw error;
    const exit = await Promise.race([exited, Promise.resolve(null)]);
    if (exit?.watchdogLost) throw watchdogLost();
    const [stall] = stalls;
    const otherwise =
      exit !== null
        ? endedEarly(exit, describeExit(exit))
        : error instanceof NotServing
          ? { fate: 'start_failed' as const, message: error.message, ...(error.hint ? { hint: error.hint } : {}) }
          : stall !== undefined
            ? stalledWhile(stall, obstacles.last?.what)
            : lateAfter(timeoutS, obstacles.last?.what);
    return classify(engine, otherwise, engineProcess.logTail(2000));
  } finally {
    clearTimeout(timer);
  }
}

/** Somebody killed the watchdog of an engine: no verdict on the configuration, and nothing to go on with. */
export const watchdogLost = (): ServetuneError =>
  new ServetuneError('watchdog_lost', 'the watchdog of the engine was killed, so the engine was ended', {
    hint: 'go on with --resume; the trial will be measured again',
  });

/** How a process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;
