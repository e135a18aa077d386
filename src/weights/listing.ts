import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { sleep } from '../kit/clock.ts';
import { InputError, messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import type { Environment } from '../kit/hub-cache.ts';
import { failure } from './failure.ts';
import { ask } from './http.ts';

/** A file as a hub lists it. */
export interface ListedFile {
  readonly path: string;
  readonly bytes: number;
  /** Of the content, in hex; null where the hub tells none (small files). */
  readonly sha256: string | null;
  /** Git's name of the content; null where the hub tells none. */
  readonly gitBlob: string | null;
  readonly url: string;
  /** Commit that changed the file last, where the hub keeps versions by file. */
  readonly revision?: string;
}

/** A repository as a hub lists it, at one revision. */
export interface Listing {
  /** Null where the hub has no commits to pin to. */
  readonly commit: string | null;
  /** Its terms have to be accepted before it can be downloaded. */
  readonly gated: boolean;
  readonly files: readonly ListedFile[];
}

/** One of the places that models are downloaded from. */
export interface Hub {
  readonly name: string;
  /** Who we are, as headers; empty for nobody. */
  headers(environment: Environment): Promise<Readonly<Record<string, string>>>;
  /**
   * Lists a repository. Throws an InputError for one that is not there or not for us, and a ServetuneError
   * (`no_network`, `hub_answer`).
   */
  list(id: string, revision: string | null, environment: Environment, signal: AbortSignal): Promise<Listing>;
  /** Address of one file. */
  fileUrl(id: string, revision: string | null, path: string, environment: Environment): string;
}

const tries = 3;
const patienceS = 30;

/**
 * Asks a hub, again where it is in trouble. The answer's body is yet to be read. Throws a ServetuneError `no_network`
 * when nobody answers, or only with errors of the server's own.
 */
export async function askHub(
  url: string,
  question: {
    readonly method?: 'GET' | 'HEAD';
    readonly stay?: boolean;
    readonly headers: Readonly<Record<string, string>>;
    readonly environment: Environment;
    readonly signal: AbortSignal;
    readonly retryWaitS?: number;
  },
): Promise<IncomingMessage> {
  const { signal, retryWaitS = 0.5 } = question;
  for (let failures = 1; ; failures++) {
    let trouble: string;
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(patienceS * 1000)]);
      const answer = await ask(url, { ...question, signal: within });
      const { statusCode = 0 } = answer;
      if (statusCode !== 429 && statusCode < 500) return answer;
      answer.destroy();
      trouble = `it answered ${statusCode}`;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ServetuneError) throw error;
      trouble = messageOf(error) || systemCode(error) || 'no connection';
    }
    if (failures === tries) {
      const hint = 'check the network and HTTPS_PROXY, or set HF_HUB_OFFLINE=1 to use what was downloaded before';
      throw failure('no_network', `${new URL(url).origin} cannot be reached: ${trouble}`, hint);
    }
    await sleep(retryWaitS * 2 ** (failures - 1), signal);
  }
}

/** The JSON in an answer. Throws a ServetuneError `hub_answer` where it has another form. */
export async function jsonIn<S extends z.ZodType>(
  answer: IncomingMessage,
  schema: S,
  url: string,
): Promise<z.infer<S>> {
  try {
    return schema.parse(JSON.parse(await text(answer)));
  } catch (error) {
    const words = `${url} answered with something other than the list of a model’s files`;
    throw failure('hub_answer', words, 'check HF_ENDPOINT and HTTPS_PROXY', error);
  }
}

/** One thing that is wrong with the model that was named. */
export const modelProblem = (name: string, message: string, hint: string): InputError =>
  new InputError([{ place: `model ${name}`, message, hint }]);
