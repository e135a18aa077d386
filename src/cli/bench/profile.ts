import { InputError, messageOf } from '../../kit/errors.ts';
import { routeOf } from '../../study/target.ts';
import type { BenchPlan } from './plan.ts';
import type { Access } from './reach.ts';

/** How long the server may take to write down what it saw when nobody wants to wait any more, seconds. */
const impatientS = 10;

/**
 * Has the server profile what follows; returns whether it does. vLLM goes on without, and so do its modes; otherwise a
 * server that cannot is an InputError.
 */
export async function startProfile(
  { compat }: BenchPlan,
  access: Access,
  signal: AbortSignal,
  note: (text: string) => void,
): Promise<boolean> {
  const fault = await call('start_profile', access, signal);
  signal.throwIfAborted();
  if (fault === undefined) return true;
  const hint = 'start the server with a profiler configured, or leave --profile out';
  if (compat === 'servetune') throw new InputError([{ place: '--profile', message: fault, hint }]);
  note(`warning: nothing is profiled: ${fault}`);
  return false;
}

/** Ends the profile, also of a load that was interrupted. What was measured stays, whatever comes of it. */
export async function stopProfile(access: Access, signal: AbortSignal, note: (text: string) => void): Promise<void> {
  const fault = await call('stop_profile', access, signal.aborted ? AbortSignal.timeout(impatientS * 1000) : signal);
  if (fault !== undefined) note(`warning: the server may still be profiling: ${fault}`);
}

async function call(route: string, { baseUrl, headers }: Access, signal: AbortSignal): Promise<string | undefined> {
  const url = routeOf(baseUrl, route);
  try {
    const answer = await fetch(url, { method: 'POST', headers, signal });
    await answer.arrayBuffer();
    return answer.ok ? undefined : `${url.href} answers ${answer.status}`;
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error;
    return `${url.href} does not answer: ${messageOf(cause)}`;
  }
}
