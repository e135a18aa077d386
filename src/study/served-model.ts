import { InputError } from '../kit/errors.ts';
import type { StudySpec } from '../records/study.ts';
import { declaredEngine } from './places.ts';
import { modelListUrl, modelsIn, type ServedModel, textOf } from './target.ts';

/** A server that runs already, as a study names it. */
export interface ExpectedServer {
  readonly url: string;
  /** The study's. */
  readonly model: string;
  /** Its name there, where it is not the model's own. */
  readonly served_model_name?: string;
}

/** Longest that a server is waited for, seconds: one that is not up yet is asked again before it is measured. */
const listTimeoutS = 5;

/**
 * The name under which a server that somebody else started serves the model of a study. Throws an InputError where it
 * serves another one: every figure would stand under the wrong name.
 *
 * @param served its model list, of one entry at least
 */
export function servedName(served: readonly ServedModel[], expected: ExpectedServer): string {
  const { url, model, served_model_name: named } = expected;
  const wanted = named ?? model;
  const found =
    served.find(({ name }) => name === wanted) ??
    served.find(({ name, root }) => isSame(name, wanted) || (root !== undefined && isSame(root, wanted)));
  if (found) return found.name;
  const names = served.map(({ name }) => name).join(', ');
  throw new InputError([
    {
      place: named === undefined ? 'model' : 'served_model_name',
      message: `${url} serves ${names}, not ${wanted}`,
      hint:
        named === undefined
          ? 'name the model that it serves; if that is its name for this one, add served_model_name to the entry under engines'
          : 'give the name as the server’s /v1/models has it',
    },
  ]);
}

/** A name and the path or owner that it stands behind are one model: `Qwen3-14B`, `Qwen/Qwen3-14B`, `/models/Qwen3-14B/`. */
function isSame(served: string, wanted: string): boolean {
  const [a, b] = [served, wanted].map((name) => name.toLowerCase().replace(/\/+$/, '')) as [string, string];
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

/** Where a study's server is, as `servedName` wants it; undefined for an engine that servetune starts. */
export const expectedAt = (
  { model }: Pick<StudySpec, 'model'>,
  { url, served_model_name: named }: { readonly url?: string; readonly served_model_name?: string },
): ExpectedServer | undefined =>
  url === undefined ? undefined : { url, model, ...(named === undefined ? {} : { served_model_name: named }) };

/**
 * Checks, before anything is measured, that the servers of a study serve its model. One that does not answer yet, or
 * names no model, is no reason to refuse: it is asked again when its turn comes. Throws one InputError with all that do not.
 */
export async function checkServedModels(
  study: Pick<StudySpec, 'model' | 'engines'>,
  signal: AbortSignal,
): Promise<void> {
  const expected = study.engines.flatMap((entry) => expectedAt(study, declaredEngine(entry)) ?? []);
  const problems = await Promise.all(
    expected.map(async (server) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(listTimeoutS * 1000)]);
      const list = await fetch(modelListUrl(new URL(server.url)), { signal: within })
        .then(textOf)
        .catch(() => '');
      const served = modelsIn(list) ?? [];
      try {
        if (served.length > 0) servedName(served, server);
        return [];
      } catch (error) {
        if (error instanceof InputError) return error.problems;
        throw error;
      }
    }),
  );
  signal.throwIfAborted();
  if (problems.flat().length > 0) throw new InputError(problems.flat());
}
