import { describe, expect, it } from 'vitest';
import { openaiChat } from '../../../src/endpoints/openai-chat.ts';
import { Answer } from '../../../src/load/answer.ts';
import { observe, observeAll, type VllmKind, vllmKind } from '../../../src/metrics/vllm/observe.ts';
import type { VllmVersion } from '../../../src/metrics/vllm/version.ts';
import { backends } from '../../../src/records/workload.ts';
import { embedding, failedRecord, record } from '../request-record.ts';

const as = (r: Parameters<typeof observe>[0], kind: VllmKind = 'chat', version: VllmVersion = 'vllm-2026-08') =>
  observe(r, { kind, version });
const ms = (valuesS: readonly number[]): number[] => valuesS.map((s) => Math.round(s * 1e6) / 1e3);

// Role at 5 ms, tokens at 200 and 220, finish at 230, usage at 500, [DONE] at 1000.
const stream = record({
  sendS: 1,
  tokenTimesS: [1.2, 1.22],
  emptyChoiceTimesS: [1.005, 1.23],
  firstEventS: 1.005,
  lastEventS: 1.5,
  endS: 2,
  serverPromptTokens: 75,
  text: 'a b',
});

describe('a chat', () => {
  it('every message with a choice is a token, and the usage ends the request', () => {
    const output = as(stream);
    expect(ms([output.ttftS, output.latencyS])).toEqual([5, 500]);
    expect(ms(output.itlS)).toEqual([195, 20, 10]);
    expect(output).toMatchObject({ success: true, startS: 1, outputTokens: 2, generatedText: 'a b', error: '' });
  });
  it('may succeed without anything in it', () => {
    const empty = failedRecord({ outcome: 'empty', sendS: 1, endS: 2, error: 'no token' });
    expect(as(empty)).toMatchObject({ success: true, ttftS: 0, itlS: [], latencyS: 0, error: '' });
    expect(as({ ...empty, lastEventS: 1.5 }).latencyS).toBeCloseTo(0.5, 9);
  });
  it('does not notice an error inside', () => {
    const broken = { ...stream, outcome: 'in_band_error', error: '400: too long' } as const;
    expect(as(broken)).toMatchObject({ success: true, error: '' });
  });
});

describe('a completion', () => {
  it('ends with its last choice', () => {
    const { emptyChoiceTimesS: _, ...plain } = stream;
    const output = as(plain, 'completions');
    expect(ms([output.ttftS, output.latencyS, ...output.itlS])).toEqual([200, 220, 20]);
  });
  it('fails without any choice', () => {
    const empty = failedRecord({ outcome: 'empty', lastEventS: 0.5 });
    expect(as(empty, 'completions')).toMatchObject({
      success: false,
      latencyS: 0,
      error: expect.stringMatching(/^Never received a valid chunk/),
    });
    expect(as({ ...empty, emptyChoiceTimesS: [0.25] }, 'completions')).toMatchObject({
      success: true,
      ttftS: 0.25,
      latencyS: 0.25,
    });
  });
});

describe('an embedding', () => {
  it('takes as long as its body, and has the server’s prompt tokens or none', () => {
    const output = as(embedding({ sendS: 1, serverPromptTokens: 70 }), 'pooling', 'vllm-0.11.0');
    expect(ms([output.ttftS, output.latencyS])).toEqual([200, 200]);
    expect(output).toMatchObject({ success: true, promptTokens: 70, itlS: [], outputTokens: 0 });
    expect(as(embedding(), 'pooling').promptTokens).toBe(0);
  });
  it('fails like others', () => {
    expect(as(failedRecord(), 'pooling')).toMatchObject({
      success: false,
      ttftS: 0,
      latencyS: 0,
      error: 'Bad Request',
    });
  });
});

describe('a failed request', () => {
  it.each([
    ['a status', failedRecord({ httpStatus: 503, error: 'HTTP 503: busy' }), 'Service Unavailable'],
    ['no connection', failedRecord({ outcome: 'connection_error', error: 'refused' }), 'refused'],
    ['a timeout', failedRecord({ outcome: 'timeout' }), 'timeout'],
    ['a message that is not JSON', record({ malformedEvents: 1 }), 'a message of the stream is not JSON'],
  ])('%s', (_, r, error) => {
    expect(as(r)).toMatchObject({ success: false, latencyS: 0, generatedText: '', error });
  });
  it('keeps the times that it had', () => {
    const cut = record({ outcome: 'truncated', error: 'aborted, after 5 token events' });
    expect(as(cut)).toMatchObject({ success: false, latencyS: 0, itlS: expect.objectContaining({ length: 4 }) });
  });
});

// The record has no field for it, only words; so the words are compared with those that the load writes.
it('a body that ends early but cleanly is a success, a broken one is not', () => {
  const answer = () => {
    const answer = new Answer(openaiChat, { outputTokens: 0 });
    answer.head({ status: 200, statusText: 'OK' });
    const event = Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
    answer.bytes(event, 0, event.length, 0.1);
    return answer;
  };
  const spec = { index: 0, prompt: '', promptTokens: 1, outputTokens: 2 };
  const [clean, broken] = [answer(), answer()];
  clean.end(0.2);
  broken.broken('socket hang up', 0.2);
  const records = [clean, broken].map((a) => a.record(spec, 0, 0));
  expect(records.map(({ outcome }) => outcome)).toEqual(['truncated', 'truncated']);
  expect(records.map((r) => as(r).success)).toEqual([true, false]);
});

it.each([
  ['vllm-0.11.0', 64],
  ['vllm-0.11.1', 64],
  ['vllm-2026-08', 75],
] as const)('%s records %d prompt tokens', (version, tokens) => {
  expect(as(stream, 'chat', version)).toMatchObject({ promptTokens: tokens, promptTokensByClient: 64 });
});

it('without usage, hands on what the text was counted to be', () => {
  expect(as(record({ outputTokens: 9, outputTokensBy: 'tokenizer' }))).toMatchObject({
    outputTokens: 0,
    encodedTokens: 9,
  });
  expect(as(record())).not.toHaveProperty('encodedTokens');
});

it('puts the requests into the order of the workload', () => {
  const records = [2, 0, 1].map((index) => record({ index, sendS: index }));
  expect(observeAll(records, { kind: 'chat', version: 'vllm-0.11.0' }).map(({ startS }) => startS)).toEqual([0, 1, 2]);
});

it('reads every backend in one of three ways', () => {
  const odd = backends.filter((backend) => vllmKind(backend) !== 'completions');
  expect(odd.map((backend) => [backend, vllmKind(backend)])).toEqual([
    ['openai-chat', 'chat'],
    ['vllm-chat', 'chat'],
    ['openai-embeddings', 'pooling'],
  ]);
});
