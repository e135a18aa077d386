import { describe, expect, it } from 'vitest';
import { failureHints } from '../../src/load/hints.ts';
import type { RequestRecord } from '../../src/records/request.ts';

const failed = (more: Partial<RequestRecord>): RequestRecord => ({
  index: 0,
  outcome: 'in_band_error',
  httpStatus: 200,
  intendedSendS: 0,
  sendS: 0,
  tokenTimesS: [],
  endS: 1,
  promptTokens: 1,
  outputTokensAsked: 1,
  outputTokens: 0,
  outputTokensBy: 'chunks',
  malformedEvents: 0,
  ...more,
});

/** What servers of each kind say about the same fault. */
const faults: readonly (readonly [string, RegExp, readonly Partial<RequestRecord>[]])[] = [
  [
    'too long a request (case 23)',
    /raise the maximum length/,
    [
      { error: "400: This model's maximum context length is 512 tokens. However, you requested 600 tokens" },
      { error: '400: Input length (40000 tokens) exceeds the maximum allowed length; longer than the context length' },
      { error: '400: the request exceeds the available context size, try increasing it' },
      {
        outcome: 'http_error',
        httpStatus: 422,
        error: 'HTTP 422: Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 5000',
      },
      { error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000' },
      { error: 'Prompt length (5000) exceeds maximum input length (4096). Set log level to info' },
    ],
  ],
  [
    'a request that is refused as such',
    /is its dialect/,
    [
      { outcome: 'http_error', httpStatus: 422, error: 'HTTP 422: {"detail":[{"loc":["body","text_input"]}]}' },
      { outcome: 'http_error', httpStatus: 400, error: 'HTTP 400 Bad Request: unknown field top_k' },
    ],
  ],
  [
    'an answer that llama-server cannot read itself',
    /not valid UTF-8/,
    [
      {
        outcome: 'http_error',
        httpStatus: 500,
        error: 'HTTP 500: The model produced output that does not match the expected Content-only format',
      },
    ],
  ],
  ['an engine out of memory', /ran out of memory/, [{ error: 'CUDA out of memory. Tried to allocate 2.00 GiB' }]],
  [
    'something else that answers',
    /no server of that dialect/,
    [
      { outcome: 'truncated', error: 'the answer is neither a stream of events nor JSON: <html>' },
      { error: 'the answer holds no embedding: {"choices":[]}' },
      { error: 'the answer holds no completion: {"data":[]}' },
    ],
  ],
  [
    'an answer that broke off',
    /time-outs on the way/,
    [
      {
        outcome: 'truncated',
        error: 'the body ended after 3 token events without a sign that the answer is complete',
      },
      { outcome: 'truncated', error: 'the connection closed in the middle of the body, after 1 token event' },
    ],
  ],
  ['a time-out', /raise the time-out/, [{ outcome: 'timeout', error: 'no end after 4 s' }]],
  [
    'a server that is not reached',
    /cannot be reached/,
    [{ outcome: 'connection_error', error: 'connect ETIMEDOUT 10.0.0.9:8000' }],
  ],
  ['an answer without a token (case 29)', /pin the length/, [{ outcome: 'empty' }]],
  [
    'a server that is full',
    /turned requests away/,
    [{ outcome: 'http_error', httpStatus: 429, error: 'HTTP 429 Too Many Requests: Model is overloaded' }],
  ],
  [
    'a chat without a template',
    /the backend openai/,
    [{ error: '400: As of transformers v4.44, default chat template is no longer allowed' }],
  ],
];

describe.each(faults)('of %s', (_, remedy, records) => {
  it.each(records.map((record) => [record.error ?? record.outcome, record]))(
    'the remedy is named: %s',
    (_said, more) => {
      const hints = failureHints([failed(more as Partial<RequestRecord>)]);
      expect(hints[0]).toMatch(remedy);
      expect(hints).toHaveLength(1);
    },
  );
});

it('is nothing for successes, and for what nobody knows', () => {
  expect(failureHints([failed({ outcome: 'ok' }), failed({ outcome: 'cancelled', error: 'ECONNREFUSED' })])).toEqual(
    [],
  );
  expect(failureHints([failed({ error: 'boom' })])).toEqual([]);
});

it('names each remedy once, the one that would mend most first', () => {
  const full = failed({ outcome: 'http_error', httpStatus: 503, error: 'HTTP 503' });
  const hints = failureHints([failed({ outcome: 'timeout' }), full, full]);
  expect(hints).toHaveLength(2);
  expect(hints[0]).toMatch(/turned requests away/);
});
