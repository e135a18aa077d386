import { endpoints } from '../endpoints/table.ts';
import { sleep } from '../kit/clock.ts';
import { messageOf } from '../kit/errors.ts';
import { runLoad } from '../load/runner.ts';
import { modelListUrl, namesIn, textOf } from './target.ts';

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
    return namesIn(await textOf(await fetch(modelListUrl(baseUrl), { signal: limited })))?.[0] ?? null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw new Error(`the model list of ${baseUrl} could not be read: ${messageOf(error)}`, { cause: error });
  }
}

async function generates(baseUrl: URL, model: string, signal: AbortSignal): Promise<boolean> {
  const endpoint = endpoints.find((e) => e.name === 'openai-chat') ?? endpoints[0];
  if (!endpoint) return false;
  const { records } = await runLoad(
    { baseUrl, endpoint, model },
    {
      requests: [{ index: 0, prompt: 'Hello', promptTokens: 1, outputTokens: probeTokens }],
      minRequests: 1,
      minDurationS: 0,
      maxConcurrency: 1,
      requestRate: Number.POSITIVE_INFINITY,
      seed: 0,
      temperature: 0,
      ignoreEos: true,
    },
    { signal },
  );
  signal.throwIfAborted();
  const record = records[0];
  return record?.outcome === 'ok' && record.outputTokens > 0;
}
