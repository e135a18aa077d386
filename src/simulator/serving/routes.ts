import type { IncomingMessage, ServerResponse } from 'node:http';
import { InputError } from '../../kit/errors.ts';
import { sendJson } from '../../serving/answer.ts';
import { readText } from '../../serving/body.ts';
import { Refusal } from '../../serving/refusal.ts';
import { type Context, routes as own, type Route, type Routes } from '../../serving/routes.ts';
import { type Failure, type Failures, readFailures, wordsOf } from './failures.ts';
import type { Iterations } from './iterations.ts';
import { type Observed, sglangMetrics, tensorrtMetrics, vllmMetrics } from './metrics.ts';
import type { SimulatedSource } from './source.ts';

/** What the routes of a simulated engine work on, besides what every server has. */
export interface Simulated {
  /** The engine that it imitates. */
  readonly engine: string;
  /** What the model was taken from: a name or a folder. */
  readonly root: string;
  readonly source: SimulatedSource;
  readonly blockTokens: number;
  readonly drafting: boolean;
  /** Body of `/server_info`, besides `version`, of the engines that have one of their own. */
  readonly serverInfo: object;
  readonly iterations: Iterations | null;
  readonly failures: Failures;
  /** Ends the process at once. */
  die(failure: string): void;
  log(line: string): void;
}

/** Goes before every server's own routes. */
export function simulatedRoutes(simulated: Simulated): Routes {
  const { engine, source, failures } = simulated;
  return {
    '/v1/models': { GET: models(simulated) },
    '/v1/chat/completions': { POST: failing(simulated, own['/v1/chat/completions']?.POST) },
    '/v1/completions': { POST: failing(simulated, own['/v1/completions']?.POST) },
    '/sim/fail': {
      GET: (_context, _request, response) => sendJson(response, 200, told(failures)),
      POST: (context, request, response) => planFailures(simulated, context, request, response),
    },
    ...(engine === 'vllm' ? vllmRoutes(simulated) : {}),
    ...(engine === 'sglang' ? sglangRoutes(simulated) : {}),
    ...(engine === 'tensorrt-llm' ? tensorrtRoutes(simulated) : {}),
    '/version': { GET: (_context, _request, response) => sendJson(response, 200, { version: source.version }) },
  };
}

const models =
  ({ engine, root, source }: Simulated): Route =>
  ({ createdAtS }, _request, response) =>
    sendJson(response, 200, {
      object: 'list',
      data: [
        {
          id: source.modelName,
          object: 'model',
          created: createdAtS,
          owned_by: `simulated ${engine}`,
          root,
          max_model_len: source.maxModelLen,
          meta: { n_vocab: source.vocabSize, n_ctx_train: source.trainContext },
          simulated: true,
        },
      ],
    });

function vllmRoutes(simulated: Simulated): Routes {
  return {
    '/metrics': { GET: plain(simulated, vllmMetrics) },
    '/server_info': { GET: serverInfo(simulated) },
    // It answers so also when blocks that are in use kept their prefixes.
    '/reset_prefix_cache': {
      POST(_context, _request, response) {
        simulated.source.resetPrefixCache();
        response.writeHead(200).end();
      },
    },
  };
}

function sglangRoutes(simulated: Simulated): Routes {
  const flush: Route = (_context, _request, response) => {
    const idle = simulated.source.resetPrefixCache();
    response.writeHead(idle ? 200 : 400, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(idle ? 'Cache flushed.\n' : 'The cache was not flushed: requests run or wait.\n');
  };
  return {
    '/metrics': { GET: plain(simulated, sglangMetrics) },
    '/server_info': { GET: serverInfo(simulated) },
    '/get_server_info': { GET: serverInfo(simulated) },
    '/flush_cache': { POST: flush, GET: flush },
    '/health_generate': { GET: (_context, _request, response) => void response.writeHead(200).end() },
  };
}

function tensorrtRoutes(simulated: Simulated): Routes {
  return {
    '/metrics': { GET: (_context, _request, response) => sendJson(response, 200, simulated.iterations?.read() ?? []) },
    '/prometheus/metrics': { GET: plain(simulated, tensorrtMetrics) },
  };
}

const plain =
  ({ source, blockTokens, drafting }: Simulated, textOf: (observed: Observed) => string): Route =>
  ({ counters }, _request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(textOf({ model: source.modelName, state: source.state(), counters, blockTokens, drafting }));
  };

const serverInfo =
  ({ serverInfo, source }: Simulated): Route =>
  (_context, _request, response) =>
    sendJson(response, 200, { ...serverInfo, version: source.version, simulated: true });

/** A route that generates, with the failures that were asked for. */
const failing =
  (simulated: Simulated, route: Route | undefined): Route =>
  (context, request, response) => {
    for (const failure of simulated.failures.next()) happen(failure, simulated);
    return route?.(context, request, response);
  };

function happen(failure: Failure, { source, die, log }: Simulated): void {
  const words = wordsOf(failure);
  log(`as asked for: ${words}`);
  if (failure.kind === 'die') die(words);
  else if (failure.kind === 'refuse') throw new Refusal(503, 'refused', `refused, as asked for by ${words}`);
  else source.pause(failure.kind === 'hang' ? Number.POSITIVE_INFINITY : failure.durationS);
}

const told = ({ requests, toCome }: Failures): object => ({ simulated: true, requests, to_come: toCome });

async function planFailures(
  { failures }: Simulated,
  { maxBodyBytes }: Context,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const words = (await readText(request, maxBodyBytes)).split(/[\s,]+/).filter((word) => word !== '');
  try {
    failures.plan(readFailures(words, 'body', failures.requests));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const text = error.problems.map(({ message }) => message).join('; ');
    throw new Refusal(400, 'bad_failure', `${text}; ${error.problems[0]?.hint ?? ''}`);
  }
  sendJson(response, 200, told(failures));
}
