import type { Serving } from './connection.ts';

/** A path, the one method it takes, and what it answers: a stream of a dialect, or JSON. */
export type Route =
  | { readonly method: 'POST'; readonly dialect: 'text' | 'chat' }
  | { readonly method: 'GET' | 'POST'; json(serving: Serving): object };

const ok = { status: 'ok' };

export const routes: Readonly<Record<string, Route>> = {
  '/v1/completions': { method: 'POST', dialect: 'text' },
  '/v1/chat/completions': { method: 'POST', dialect: 'chat' },
  '/v1/models': {
    method: 'GET',
    json: ({ options }) => ({ object: 'list', data: [{ id: options.model, object: 'model', owned_by: 'paced' }] }),
  },
  '/health': { method: 'GET', json: () => ok },
  '/stats': { method: 'GET', json: ({ tallies }) => tallies.read() },
  '/reset': {
    method: 'POST',
    json({ tallies }) {
      tallies.reset();
      return ok;
    },
  },
};
