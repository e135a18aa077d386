import { arrivalTimes, isBurst } from './arrivals.ts';
import { Course } from './course.ts';
import { openJournal } from './journal.ts';
import { openLane } from './lane-open.ts';
import { type LaneTask, type RunningLane, startLaneThread } from './lane-thread.ts';
import { Load } from './load.ts';
import { checkPlan, type LoadPlan } from './plan.ts';
import { checkOpenFiles } from './preflight.ts';
import { requestBody } from './request-body.ts';
import type { LoadHooks, LoadResult } from './result.ts';
import { shareRequests } from './shared-requests.ts';
import { type LoadTarget, requestUrl } from './target.ts';

export type { LoadPlan } from './plan.ts';
export type { LoadProgress } from './progress.ts';
export type { LoadHooks, LoadResult } from './result.ts';
export type { LoadTarget } from './target.ts';

/**
 * Sends a load and reads every answer. Each request is sent when it is due and a place is free, never earlier and never
 * because another one was late; every request that was sent yields exactly one record.
 *
 * Aborting the signal ends it early with `cancelled` and is no error. Throws an InputError for a plan that cannot work
 * and for more connections than the system allows, and a ServetuneError `disk_full` or `records_unwritable` when the
 * records cannot be kept: after the requests under way were dropped.
 */
export async function runLoad(target: LoadTarget, plan: LoadPlan, hooks: LoadHooks): Promise<LoadResult> {
  checkPlan(plan);
  const due = dueTimes(plan);
  const atOnce = Math.min(plan.maxConcurrency ?? Number.POSITIVE_INFINITY, due.length);
  const burst = isBurst(plan.arrivals) && plan.requests[0]?.dueS === undefined;
  if (burst || plan.maxConcurrency !== null) checkOpenFiles(atOnce);

  let load: Load | undefined;
  const journal =
    hooks.recordsPath === undefined
      ? undefined
      : await openJournal(hooks.recordsPath, (error) => load?.abandon('cancelled', error.message));
  const lanes: RunningLane[] = [];
  try {
    const threads = Math.max(1, Math.min(hooks.workers ?? 1, atOnce));
    const course = Course.of(due, threads);
    const running = new Load({ plan, hooks, course, journal });
    load = running;
    const tasks = tasksOf(target, plan, course, {
      threads,
      // Without a limit each thread would take what it can get: a burst is shared out evenly, as its connections are.
      limit: plan.maxConcurrency ?? (burst ? atOnce : null),
      preconnect: burst && hooks.preconnect !== false ? atOnce : 0,
      ready: atOnce,
    });
    if (hooks.workers === undefined) {
      for (const task of tasks) lanes.push(await laneHere(task, target, hooks.signal, running));
    } else {
      const start = async (task: LaneTask): Promise<void> => {
        lanes.push(await startLaneThread(task, (packed, refusals) => running.records(packed, refusals)));
      };
      await Promise.all(tasks.map(start));
    }
    return await running.run(lanes);
  } finally {
    for (const lane of lanes) lane.close();
    await journal?.close();
  }
}

/** When each request that may be sent is due. A dataset's own clock goes before the arrivals that were asked for. */
function dueTimes({ requests, arrivals, minRequests, minDurationS }: LoadPlan): Float64Array {
  const count = minDurationS > 0 ? requests.length : minRequests;
  const times = arrivalTimes(count, arrivals);
  for (let i = 0; i < count; i++) times[i] = requests[i]?.dueS ?? (times[i] as number);
  return times;
}

interface Sharing {
  readonly threads: number;
  /** Most requests in flight over all threads; null is no limit. */
  readonly limit: number | null;
  /** Connections to open before the load. */
  readonly preconnect: number;
  /** Bodies to make ready before the load. */
  readonly ready: number;
}

/** What each thread has to do. */
function tasksOf(target: LoadTarget, plan: LoadPlan, course: Course, sharing: Sharing): readonly LaneTask[] {
  const { endpoint, model, headers = {}, ca } = target;
  const { threads, limit, preconnect, ready } = sharing;
  const share = (whole: number, thread: number): number => Math.floor(whole / threads) + (thread < whole % threads ? 1 : 0); // biome-ignore format: one formula
  const lanePlan = {
    minRequests: plan.minRequests,
    minDurationS: plan.minDurationS,
    ...(plan.requestIdPrefix === undefined ? {} : { requestIdPrefix: plan.requestIdPrefix }),
    ...(plan.keepText === undefined ? {} : { keepText: plan.keepText }),
    ...(plan.requestTimeoutS === undefined ? {} : { requestTimeoutS: plan.requestTimeoutS }),
  };
  const { ask, extraBody } = plan;
  const bodyPlan = { model, ask, ...(extraBody === undefined ? {} : { extraBody }) };
  const common = {
    memory: course.memory,
    plan: lanePlan,
    backend: endpoint.name,
    bodyPlan,
    url: requestUrl(target).href,
    headers,
    ...(ca === undefined ? {} : { ca }),
    requests: shareRequests(plan.requests, ready, (spec) => requestBody(spec, endpoint, bodyPlan)),
  };
  return Array.from({ length: threads }, (_, thread) => ({
    ...common,
    thread,
    limit: limit === null ? null : share(limit, thread),
    preconnect: share(preconnect, thread),
  }));
}

/** A lane on this thread. */
async function laneHere(
  task: LaneTask,
  { endpoint }: LoadTarget,
  signal: AbortSignal,
  load: Load,
): Promise<RunningLane> {
  const { lane, close } = await openLane(task, endpoint, signal, (record, refusal) => load.record(record, refusal));
  return { run: (startS) => lane.run(startS), abandon: (reason) => lane.abandon(reason), close };
}
