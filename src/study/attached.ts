import { connect } from 'node:net';
import { boundedText } from '../kit/bounded-text.ts';
import { now, sleep } from '../kit/clock.ts';
import { InputError, systemCode } from '../kit/errors.ts';
import type { Supervised } from '../processes/supervisor.ts';
import { routeOf } from './target.ts';

/** Stands in for the process of a server that is not ours: it never ends as far as we know, and we do not end it. */
export function attached(): Supervised {
  const stopped = { exit: { code: null, signal: null }, forced: false, survivors: [], durationS: 0 };
  return {
    pid: 0,
    startTime: '',
    exited: new Promise(() => {}),
    logTail: () => [],
    stop: async () => stopped,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Nobody here starts such a server: where nobody listens for so long, nobody is coming, seconds. */
export const closedForS = 10;

/**
 * Waits until somebody listens at an address. Throws an InputError when nobody has for `closedForS`; an address that
 * cannot even be asked is left to whoever measures there.
 */
export async function expectListening(url: URL, signal: AbortSignal): Promise<void> {
  for (const began = now(); await refusesConnections(url, signal); await sleep(0.2, signal)) {
    if (now() - began < closedForS) continue;
    throw new InputError([
      { place: url.href, message: 'refuses connections', hint: 'start the server, or correct its url in the study' },
    ]);
  }
}

function refusesConnections({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)), signal, timeout: 5000 });
  return new Promise((answer, interrupted) => {
    const end = (refuses: boolean): void => {
      socket.destroy();
      answer(refuses);
    };
    socket.once('connect', () => end(false));
    socket.once('timeout', () => end(false));
    socket.once('error', (error) => (signal.aborted ? interrupted(signal.reason) : end(isRefusal(error))));
  });
}

/** A name with several addresses fails with all of their errors. */
const isRefusal = (error: Error): boolean =>
  error instanceof AggregateError ? error.errors.every(isRefusal) : systemCode(error) === 'ECONNREFUSED';

/** Where servers tell their version, and in which field; the first that does counts. */
const versionRoutes = [
  ['version', 'version'], // vLLM, TensorRT-LLM
  ['server_info', 'version'], // SGLang
  ['get_server_info', 'version'], // its name before
  ['props', 'build_info'], // llama.cpp
] as const;

/** Longest that a server may take to tell, seconds: it can be measured without. */
const versionTimeoutS = 3;
/** Most that is read of an answer, characters: SGLang tells much else with it. */
const longestAnswer = 1 << 20;
/** What can stand behind the name of an engine, on one line. */
const versionText = /^\w[\w.+-]{0,79}$/;

/**
 * The version that a server of somebody else's tells of itself; undefined where it tells none, is not there, or takes
 * too long. Rejects with nothing but the signal's reason.
 */
export async function versionAt(baseUrl: URL, signal: AbortSignal): Promise<string | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(versionTimeoutS * 1000)]);
  const told = await Promise.all(
    versionRoutes.map(([route, field]) => fieldOf(routeOf(baseUrl, route), field, within).catch(() => undefined)),
  );
  signal.throwIfAborted();
  return told.find((version) => version !== undefined);
}

async function fieldOf(url: URL, field: string, signal: AbortSignal): Promise<string | undefined> {
  const response = await fetch(url, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    return undefined;
  }
  const body = JSON.parse(await boundedText(response, longestAnswer)) as Readonly<Record<string, unknown>> | null;
  const value = body?.[field];
  return typeof value === 'string' && versionText.test(value) ? value : undefined;
}
