import { endpointNamed } from '../endpoints/table.ts';
import { sleep } from '../kit/clock.ts';
import { messageOf } from '../kit/errors.ts';
import { atOnce } from '../load/arrivals.ts';
import type { LoadPlan } from '../load/plan.ts';
import { runLoad } from '../load/runner.ts';
import type { LoadTarget } from '../load/target.ts';
import type { RequestRecord, RequestSpec } from '../records/request.ts';
import { modelListUrl, modelsIn, textOf } from './target.ts';

/** Tokens that the generation must produce which proves that an engine is ready. */
const probeTokens = 4;

/**
 * Waits until an engine really serves: its health route answers 200, its model list names a model, and one streamed
 * generation ends well. Health alone is not enough: engines answer 200 before their kernels are warm, and some hang
 * behind a healthy route.
 *
 * @returns the model's name as the server knows it
 * @throws what `signal` aborts with; the caller aborts when the engine dies or its time is up
 */
export async function waitUntilReady(baseUrl: URL, healthPath: string, signal: AbortSignal): Promise<string> {
  let pauseS = 0.05;
  for (;;) {
    const model = (await answers200(new URL(healthPath, baseUrl), signal)) ? await servedModel(baseUrl, signal) : null;
    if (model !== null && (await generates(baseUrl, model, signal))) return model;
    await sleep(pauseS, signal);
    pauseS = Math.min(1, pauseS * 1.3);
  }
}

async function answers200(url: URL, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** First name of the server's model list; null while it has none. */
async function servedModel(baseUrl: URL, signal: AbortSignal): Promise<string | null> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(5000)]);
    return modelsIn(await textOf(await fetch(modelListUrl(baseUrl), { signal: limited })))?.[0]?.name ?? null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw new Error(`the model list of ${baseUrl} could not be read: ${messageOf(error)}`, { cause: error });
  }
}

async function generates(baseUrl: URL, model: string, signal: AbortSignal): Promise<boolean> {
  const spec = { index: 0, prompt: 'Hello', promptTokens: 1, outputTokens: probeTokens };
  const ask = { sampling: { temperature: 0 }, ignoreEos: true, compat: 'servetune' } as const;
  const record = await answerOf({ baseUrl, endpoint: endpointNamed('openai-chat'), model }, spec, ask, signal);
  return record.outcome === 'ok' && record.outputTokens > 0;
}

/** Sends one request by itself, and tells what came of it. */
export async function answerOf(
  target: LoadTarget,
  request: RequestSpec,
  ask: LoadPlan['ask'],
  signal: AbortSignal,
  more: Pick<LoadPlan, 'extraBody' | 'requestTimeoutS'> = {},
): Promise<RequestRecord> {
  const once = { minRequests: 1, minDurationS: 0, maxConcurrency: 1, arrivals: atOnce };
  const plan = { ...more, ...once, requests: [request], ask };
  const { records } = await runLoad(target, plan, { signal });
  signal.throwIfAborted();
  const [record] = records;
  if (!record) throw new Error('a request left no record');
  return record;
}
