import { endpointNamed } from '../endpoints/table.ts';
import { now, sleep } from '../kit/clock.ts';
import { atOnce } from '../load/arrivals.ts';
import { failureHints } from '../load/hints.ts';
import type { LoadPlan } from '../load/plan.ts';
import { runLoad } from '../load/runner.ts';
import type { LoadTarget } from '../load/target.ts';
import type { RequestRecord, RequestSpec } from '../records/request.ts';
import {
  followObstacles,
  healthObstacle,
  NotServing,
  type Obstacles,
  servedModels,
  testObstacle,
  unansweredTest,
} from './obstacle.ts';
import type { ServedModel } from './target.ts';

/** Tokens that the generation must produce which proves that an engine is ready. */
const probeTokens = 4;

/** Fields of a request that an engine can do without, the one that is missed least first, and what follows from that. */
const followsWithout = {
  temperature: 'it samples as it thinks best',
  stream_options: 'the tokens of its answers are counted on this side',
  ignore_eos: 'the lengths of its answers are not pinned',
} as const;
const dispensable = Object.keys(followsWithout) as readonly (keyof typeof followsWithout)[];

/** An engine that refuses everything for this long is taken at its word; while it warms up it may answer anything. */
const refusalsForS = 5;

/** An engine that serves. */
export interface Ready {
  /** The model's name as the server knows it. */
  readonly model: string;
  /** Fields of the requests that it refuses, so that loads must leave them out (`leftOut`); mostly empty. */
  readonly refused: readonly string[];
}

/** The engine is up, and refuses every request that this side can make. */
export class ProbeRefused extends NotServing {
  constructor(record: RequestRecord) {
    const [hint] = failureHints([record]);
    super('probe_refused', `the engine refuses a plain request: ${record.error ?? record.outcome}`, {
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

/** What to lay over a request's body so that it has none of these fields. */
export const leftOut = (fields: readonly string[]): Readonly<Record<string, undefined>> =>
  Object.fromEntries(fields.map((field) => [field, undefined]));

/** The fields that `leftOut` takes out of a body. */
export const fieldsLeftOut = (extraBody: Readonly<Record<string, unknown>> = {}): readonly string[] =>
  Object.keys(extraBody).filter((field) => extraBody[field] === undefined);

/** What a reader of the figures must know of fields that the server refused, a sentence for each. */
export const refusalNotes = (fields: readonly string[]): readonly string[] =>
  dispensable
    .filter((field) => fields.includes(field))
    .map((field) => `The server refuses the field ${field}, so it was left out: ${followsWithout[field]}.`);

/**
 * Waits until an engine really serves: its health route answers 200, its model list names a model, and one streamed
 * generation ends well. Health alone is not enough: engines answer 200 before their kernels are warm, and some hang
 * behind a healthy route. A request that is refused for a field that the engine does not know is sent without it.
 *
 * @param onHealthy called once health and model list are there, and only the generation is missing
 * @param nameIn which of the models is asked, by its name there; the first, unless told otherwise. What it throws is thrown
 * @throws ProbeRefused when it goes on refusing what it is asked, and NotServing when what it answers will hardly change
 * @throws what `signal` aborts with; the caller aborts when the engine dies or its time is up
 */
export async function waitUntilReady(
  baseUrl: URL,
  healthPath: string,
  signal: AbortSignal,
  onHealthy?: () => void,
  nameIn: (served: readonly ServedModel[]) => string = ([first]) => first?.name ?? '',
  obstacles: Obstacles = followObstacles(),
): Promise<Ready> {
  let pauseS = 0.05;
  let refusedSinceS: number | undefined;
  for (;;) {
    const unhealthy = await healthObstacle(new URL(healthPath, baseUrl), signal);
    const served = unhealthy ?? (await servedModels(baseUrl, signal));
    if ('what' in served) obstacles.note(served);
    else {
      const model = nameIn(served);
      onHealthy?.();
      // Only where there is nothing else to tell: a request under way says less than how the one before failed.
      if (!obstacles.last?.isWrong) obstacles.note(unansweredTest);
      const { record, refused } = await generate(baseUrl, model, signal);
      if (isGenerated(record)) return { model, refused };
      obstacles.note(testObstacle(record));
      refusedSinceS = isRefusal(record) ? (refusedSinceS ?? now()) : undefined;
      if (refusedSinceS !== undefined && now() - refusedSinceS >= refusalsForS) throw new ProbeRefused(record);
    }
    await sleep(pauseS, signal);
    pauseS = Math.min(1, pauseS * 1.3);
  }
}

interface Probe {
  readonly record: RequestRecord;
  readonly refused: readonly string[];
}

/** One generation, without the fields for which it is refused. A model without a chat template completes bare prompts. */
async function generate(baseUrl: URL, model: string, signal: AbortSignal): Promise<Probe> {
  const chat = await generateBy('openai-chat', baseUrl, model, signal);
  if (!isRefusal(chat.record)) return chat;
  const bare = await generateBy('openai', baseUrl, model, signal);
  return isGenerated(bare.record) ? bare : chat;
}

async function generateBy(backend: string, baseUrl: URL, model: string, signal: AbortSignal): Promise<Probe> {
  const target = { baseUrl, endpoint: endpointNamed(backend), model };
  const without = (fields: readonly string[]): Promise<RequestRecord> => probe(target, fields, signal);
  let refused: readonly string[] = [];
  let record = await without(refused);
  // As long as it names what it refuses, that is left out.
  while (isRefusal(record)) {
    const named = namedIn(record.error ?? '', refused);
    if (named.length === 0) break;
    refused = [...refused, ...named];
    record = await without(refused);
  }
  if (!isRefusal(record)) return { record, refused };
  // It names none: without all of them, and then each is given another chance.
  const bare = await without(dispensable);
  if (!isGenerated(bare)) return { record, refused: [] };
  record = bare;
  refused = dispensable;
  for (const field of dispensable) {
    const fewer = refused.filter((name) => name !== field);
    const again = await without(fewer);
    if (isGenerated(again)) refused = fewer;
  }
  return { record, refused };
}

/** Fields that a refusal speaks of, of those that were sent and can be done without. */
const namedIn = (error: string, refused: readonly string[]): readonly string[] =>
  dispensable.filter((field) => !refused.includes(field) && new RegExp(`\\b${field}\\b`).test(error));

async function probe(target: LoadTarget, fields: readonly string[], signal: AbortSignal): Promise<RequestRecord> {
  const spec = { index: 0, prompt: 'Hello', promptTokens: 1, outputTokens: probeTokens };
  const ask = { sampling: { temperature: 0 }, ignoreEos: true, compat: 'servetune' } as const;
  return await answerOf(target, spec, ask, signal, { extraBody: leftOut(fields) });
}

const isGenerated = ({ outcome, outputTokens }: RequestRecord): boolean => outcome === 'ok' && outputTokens > 0;

/** The request itself is not to its liking. */
const isRefusal = ({ httpStatus }: RequestRecord): boolean => httpStatus === 400 || httpStatus === 422;

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
