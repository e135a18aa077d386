import { boundedAnswer } from '../kit/bounded-answer.ts';
import { now } from '../kit/clock.ts';
import { messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import type { RequestRecord } from '../records/request.ts';
import { modelListUrl, modelsIn, type ServedModel } from './target.ts';

/** Why a server does not serve yet, by its last answer. */
export interface Obstacle {
  /** Whole words: what was asked, and what came. */
  readonly what: string;
  /** An answer that no waiting is likely to mend: another program's, or for a route that is not there. */
  readonly isWrong?: true;
  /** Nobody listens. */
  readonly isRefused?: true;
}

/** The server will not serve, however long one waits. */
export class NotServing extends ServetuneError {}

/** The same wrong answer for this long is taken for the last word; while an engine warms up it may answer anything. */
const wrongForS = 30;
/** Longest that a question of the readiness probe may take, and most that is read of its answer. */
const answerTimeoutS = 5;
const longestList = 1 << 20;

/** Follows what stands in the way, and gives up where waiting is of no use. */
export interface Obstacles {
  /** The last one, for whoever gives up; undefined before the first answer. */
  readonly last: Obstacle | undefined;
  /**
   * Notes what stands in the way now.
   *
   * @throws NotServing when it has been the same wrong answer for 30 s, or when the port was closed for `closedForS`
   */
  note(obstacle: Obstacle): void;
}

/** @param closedForS how long nobody may listen: for a server that nobody here starts; absent: for ever */
export function followObstacles(closedForS = Number.POSITIVE_INFINITY): Obstacles {
  let last: Obstacle | undefined;
  let sinceS = now();
  return {
    get last() {
      return last;
    },
    note(obstacle) {
      if (last === undefined || alike(obstacle.what) !== alike(last.what)) sinceS = now();
      last = obstacle;
      const forS = now() - sinceS;
      if (obstacle.isRefused && forS >= closedForS) {
        throw new NotServing('nobody_listens', obstacle.what, { hint: 'start it, or correct the url' });
      }
      if (obstacle.isWrong && forS >= wrongForS) {
        throw new NotServing('wrong_answer', `${obstacle.what}, and did so for ${Math.round(forS)} s`, {
          hint: 'see the engine log; look whether that program is the engine, and whether this version has that route',
        });
      }
    },
  };
}

/** Without what differs from answer to answer: times, ids. */
const alike = (what: string): string => what.replace(/[0-9a-f-]{8,}|\d+/g, '');

/** What stands in the way of a healthy server; undefined when its health route answers 200. */
export async function healthObstacle(url: URL, signal: AbortSignal): Promise<Obstacle | undefined> {
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutS * 1000)]);
    const response = await fetch(url, { signal: within });
    // The status is the answer; some never end what comes after it.
    await response.body?.cancel();
    return response.status === 200 ? undefined : { what: `GET ${url} answers ${response.status}` };
  } catch (error) {
    signal.throwIfAborted();
    return unanswered(url, error);
  }
}

/** The models that a server lists, at least one, or what stands in their place. */
export async function servedModels(baseUrl: URL, signal: AbortSignal): Promise<readonly ServedModel[] | Obstacle> {
  const url = modelListUrl(baseUrl);
  try {
    const { status, text } = await boundedAnswer(url, signal, { timeoutS: answerTimeoutS, most: longestList });
    const models = modelsIn(text);
    if (models !== null && models.length > 0) return models;
    if (status !== 200) return { what: `GET ${url} answers ${status}${said(text)}`, ...wrongIf(isLasting(status)) };
    return models === null
      ? { what: `GET ${url} answers with something other than a list of models${said(text)}`, isWrong: true }
      : { what: `GET ${url} lists no model` };
  } catch (error) {
    signal.throwIfAborted();
    return unanswered(url, error);
  }
}

/** Before the test request is answered. */
export const unansweredTest: Obstacle = { what: 'the test request is not answered' };

/** What a test request that went wrong says. */
export function testObstacle({ outcome, error, httpStatus = 0 }: RequestRecord): Obstacle {
  const what = `the test request failed: ${clipped(error ?? outcome)}`;
  const isWrong =
    outcome === 'truncated' ||
    outcome === 'empty' ||
    (outcome === 'http_error' && isLasting(httpStatus)) ||
    (outcome === 'connection_error' && /Parse Error/.test(error ?? ''));
  return { what, ...wrongIf(isWrong) };
}

const wrongIf = (isWrong: boolean): Pick<Obstacle, 'isWrong'> => (isWrong ? { isWrong: true } : {});

/** Statuses below 500 but for those that ask for patience. What fails on the server's side may be its warm-up. */
const isLasting = (status: number): boolean => status < 500 && ![408, 409, 425, 429].includes(status);

function unanswered(url: URL, error: unknown): Obstacle {
  if (error instanceof DOMException || (error instanceof ServetuneError && error.code === 'no_answer')) {
    return { what: `GET ${url} gives no answer in ${answerTimeoutS} s` };
  }
  const cause = error instanceof Error && error.cause ? error.cause : error;
  const code = systemCode(cause) ?? '';
  if (code === 'ECONNREFUSED') return { what: `${url.origin} refuses connections`, isRefused: true };
  if (/^HPE_|^UND_ERR_HEADERS_OVERFLOW/.test(code)) {
    return { what: `what answers at ${url.origin} does not speak HTTP (${clipped(messageOf(cause))})`, isWrong: true };
  }
  return { what: `GET ${url} breaks off (${clipped(messageOf(cause) || code)})` };
}

const said = (body: string): string => (body.trim() === '' ? '' : `: ${clipped(body)}`);

/** The beginning of a text, on one line, without what a terminal would act on. */
function clipped(text: string): string {
  const line = text
    .slice(0, 2000)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  return line.length > 120 ? `${line.slice(0, 120)}...` : line;
}
