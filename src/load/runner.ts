import { isBurst } from './arrivals.ts';
import { openHttp } from './http.ts';
import { openJournal } from './journal.ts';
import { Load } from './load.ts';
import { checkPlan, type LoadPlan } from './plan.ts';
import { checkOpenFiles } from './preflight.ts';
import type { LoadHooks, LoadResult } from './result.ts';
import { type LoadTarget, requestUrl } from './target.ts';
import type { Transport } from './transport.ts';
import { warmUpClient } from './warmup.ts';

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
  const pool = plan.minDurationS > 0 ? plan.requests.length : plan.minRequests;
  const atOnce = Math.min(plan.maxConcurrency ?? Number.POSITIVE_INFINITY, pool);
  const burst = isBurst(plan.arrivals) && plan.requests[0]?.dueS === undefined;
  if (burst || plan.maxConcurrency !== null) checkOpenFiles(atOnce);

  await warmUpClient(target.endpoint, hooks.signal);

  let load: Load | undefined;
  const journal =
    hooks.recordsPath === undefined
      ? undefined
      : await openJournal(hooks.recordsPath, (error) => load?.abandon('cancelled', error.message));
  let transport: Transport | undefined;
  try {
    transport = await openHttp({
      url: requestUrl(target),
      headers: target.headers ?? {},
      preconnect: burst ? atOnce : 0,
      ...(target.ca === undefined ? {} : { ca: target.ca }),
      signal: hooks.signal,
    });
    load = new Load(target, plan, hooks, transport, journal);
    return await load.run();
  } finally {
    transport?.close();
    await journal?.close();
  }
}
