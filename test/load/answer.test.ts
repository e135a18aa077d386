import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/endpoints/endpoint.ts';
import { endpointNamed } from '../../src/endpoints/table.ts';
import { Answer } from '../../src/load/answer.ts';
import type { Tally } from '../../src/load/tally.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { dialects } from '../contracts/dialects.ts';

const spec = { index: 4, prompt: 'x', promptTokens: 1, outputTokens: 8 };
const data = (event: unknown): string =>
  event === '[DONE]' ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(event)}\n\n`;

interface Feed {
  readonly keepText?: boolean;
  readonly tally?: Tally;
  readonly how?: 'end' | 'broken' | 'giveUp';
}

/** Feeds bytes, one piece a second from second 1 on, and gives the record. */
function read(name: string | Endpoint, pieces: readonly (string | Buffer)[], feed: Feed = {}): RequestRecord {
  const { keepText = false, tally = { outputTokens: 0 }, how = 'end' } = feed;
  const answer = new Answer(typeof name === 'string' ? endpointNamed(name) : name, tally, { keepText });
  answer.head({ status: 200, statusText: 'OK' });
  pieces.forEach((piece, i) => {
    const bytes = Buffer.from(piece);
    answer.bytes(bytes, 0, bytes.length, i + 1);
  });
  if (how === 'end') answer.end(pieces.length + 1);
  if (how === 'broken') answer.broken('socket hang up', pieces.length + 1);
  if (how === 'giveUp') answer.giveUp('timeout', 'no end after 3 s', pieces.length + 1);
  return answer.record(spec, 0.1, 0.2);
}

const token = (text: string, completion_tokens?: number): string =>
  data({
    choices: [{ text, finish_reason: null }],
    usage: completion_tokens === undefined ? null : { prompt_tokens: 5, completion_tokens },
  });
const finish = data({ choices: [{ text: '', finish_reason: 'length' }] });
const usage = (completion_tokens: number): string =>
  data({ choices: [], usage: { prompt_tokens: 5, completion_tokens } });
const done = data('[DONE]');

describe('a compressed body that nobody asked for', () => {
  const compressed = gzipSync('{"error": {"message": "no"}}');
  const answer = (status: number): RequestRecord => {
    const one = new Answer(endpointNamed('openai'), { outputTokens: 0 });
    one.head({ status, statusText: status === 200 ? 'OK' : 'Internal Server Error', encoding: 'gzip' });
    one.bytes(compressed, 0, compressed.length, 1);
    one.end(2);
    return one.record(spec, 0.1, 0.2);
  };

  it.each([
    [500, 'http_error', /^HTTP 500 Internal Server Error: the body is compressed.*content-encoding: gzip\)$/],
    [200, 'truncated', /it begins with: the body is compressed.*content-encoding: gzip\)$/],
  ])('is named, not quoted (HTTP %i)', (status, outcome, error) => {
    expect(answer(status)).toMatchObject({ outcome, error: expect.stringMatching(error) });
  });
});

describe('the record of an answer', () => {
  it('has the time of everything that vLLM looks at', () => {
    const role = data({ choices: [{ text: '' }] });
    expect(read('openai', [role, token('a'), token('b'), finish, usage(2), done])).toEqual({
      index: 4,
      outcome: 'ok',
      httpStatus: 200,
      intendedSendS: 0.1,
      sendS: 0.2,
      firstEventS: 1,
      firstTokenS: 2,
      firstAnswerTokenS: 2,
      tokenTimesS: [2, 3],
      emptyChoiceTimesS: [1, 4],
      lastEventS: 5,
      lastTokenS: 3,
      endS: 6,
      promptTokens: 1,
      serverPromptTokens: 5,
      outputTokensAsked: 8,
      outputTokens: 2,
      outputTokensBy: 'server',
      finishReason: 'length',
      malformedEvents: 0,
    });
  });

  it('leaves out what never came', () => {
    const record = read('openai', [], { how: 'giveUp' });
    expect(record).toMatchObject({ outcome: 'timeout', tokenTimesS: [], outputTokensBy: 'chunks', endS: 1 });
    for (const key of ['tokenCounts', 'emptyChoiceTimesS', 'lastEventS', 'lastTokenS', 'text', 'finishReason'])
      expect(record).not.toHaveProperty(key);
  });

  it('has text when the server did not count, on every channel, and otherwise when it is wanted', () => {
    const answer = [token('a'), token(' b'), finish];
    expect(read('openai', [...answer, done])).toMatchObject({ outputTokensBy: 'chunks', text: 'a b' });
    expect(read('openai', [...answer, usage(2), done])).not.toHaveProperty('text');
    expect(read('openai', [...answer, usage(2), done], { keepText: true }).text).toBe('a b');
    const delta = (fields: object): string => data({ choices: [{ delta: fields, finish_reason: null }] });
    const channels = [
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'hm ' }),
      delta({ reasoning: 'so ', content: 'yes ' }),
      delta({ tool_calls: [{ function: { arguments: '{' } }, { function: { arguments: '}' } }] }),
      delta({ refusal: ' no' }),
    ];
    const record = read('openai-chat', [...channels, done]);
    expect(record).toMatchObject({ text: 'hm so yes {} no', tokenTimesS: [2, 3, 4, 5], firstAnswerTokenS: 3 });
  });

  it('keeps the text of what broke off', () => {
    expect(read('openai', [token('a'), token('b')], { how: 'broken' })).toMatchObject({
      outcome: 'truncated',
      text: 'ab',
      outputTokens: 2,
      error: 'socket hang up, after 2 token events',
    });
  });

  it('has the tokens of each event when all of them tell', () => {
    const pieces = [token('ab', 2), token('', 3), token('cd', 5), finish, done];
    expect(read('openai', pieces)).toMatchObject({
      tokenTimesS: [1, 3],
      tokenCounts: [2, 3],
      emptyChoiceTimesS: [2, 4],
      outputTokens: 5,
      outputTokensBy: 'server',
    });
    expect(read('openai', [token('a'), token('bc', 3), done])).not.toHaveProperty('tokenCounts');
    expect(read('openai', [token('a', 1), token('bc'), token('d', 4), done])).not.toHaveProperty('tokenCounts');
  });

  it('sums the tokens of the events when no total came', () => {
    const event = (text_output: string, num_output_tokens: number): string => data({ text_output, num_output_tokens });
    expect(read('tensorrt-llm', [event('abc', 3), event('d', 1)])).toMatchObject({
      outcome: 'ok',
      tokenCounts: [3, 1],
      outputTokens: 4,
      outputTokensBy: 'server',
    });
  });

  it('takes the last total, also of an answer that broke off', () => {
    const record = read('openai', [token('a', 1), token('bcd', 4)], { how: 'broken' });
    expect(record).toMatchObject({ outcome: 'truncated', outputTokens: 4, outputTokensBy: 'server' });
  });
});

describe('the end of an answer', () => {
  it('is where the dialect says so, and nothing that comes later counts', () => {
    const last = data({ content: 'b', stop: true, tokens_predicted: 2, stop_type: 'limit' });
    const record = read('llama.cpp', [data({ content: 'a', stop: false }), last, data({ error: { message: 'late' } })]);
    expect(record).toMatchObject({ outcome: 'ok', endS: 2, outputTokens: 2, finishReason: 'limit' });
  });

  it('is the clean end of the body only for a dialect that has nothing else', () => {
    const said = [data({ text_output: 'a' })];
    expect(read('tensorrt-llm', said)).toMatchObject({ outcome: 'ok', endS: 2, lastTokenS: 1 });
    expect(read('tensorrt-llm', said, { how: 'broken' })).toMatchObject({ outcome: 'truncated' });
    expect(read('tensorrt-llm', [data({ text_output: '' })])).toMatchObject({ outcome: 'empty' });
    expect(read('tensorrt-llm', [data({})])).toMatchObject({ outcome: 'truncated' });
    expect(read('openai', [token('a')])).toMatchObject({ outcome: 'truncated' });
  });

  it('is that of the body where nothing is generated', () => {
    const body = JSON.stringify({ data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 3 } });
    const record = read('openai-embeddings', [body.slice(0, 9), body.slice(9)]);
    expect(record).toMatchObject({ outcome: 'ok', lastTokenS: 3, endS: 3, outputTokens: 0, outputTokensBy: 'server' });
    expect(record).not.toHaveProperty('text');
    expect(read('openai-embeddings', [body.slice(0, 9)])).not.toHaveProperty('lastTokenS');
  });
});

it('keeps the tally of all answers right, whatever the server counts', () => {
  const tally = { outputTokens: 0 };
  read('openai', [token('a'), token('b'), finish, usage(7), done], { tally });
  expect(tally.outputTokens).toBe(7);
  read('openai', [token('ab', 2), token('c', 3), finish, done], { tally });
  expect(tally.outputTokens).toBe(10);
  read('openai', [token('a'), token('b')], { tally, how: 'broken' });
  expect(tally.outputTokens).toBe(12);
});

const endings = fc.constantFrom('\n', '\r\n', '\r');

/** A stream of three tokens of each dialect, its lines ended in one of the standard's ways, with comments and a BOM. */
describe.each(Object.keys(dialects).filter((name) => name !== 'openai-embeddings'))('%s', (name) => {
  const dialect = dialects[name];
  const texts = ['a', ' \u4f60\u{1f600}', 'b\u2028c '];
  const events = texts.map((text, i) => dialect?.token(text, texts.slice(0, i)));
  const all = [...events, dialect?.finish('length', texts), ...(dialect?.endsAt === 'DONE' ? ['[DONE]'] : [])];
  const streamOf = (newline: (line: number) => string, opening = ''): Buffer => {
    let line = 0;
    const lines = all.flatMap((event) => [...data(event).trimEnd().split('\n'), '', ': ping', '']);
    let written = opening;
    for (const text of lines) {
      const end = newline(line++);
      // CR and LF of two lines would be the end of one.
      written += text + (text === '' && end === '\n' && written.endsWith('\r') ? '\r' : end);
    }
    return Buffer.from(written);
  };
  const recordOf = (...pieces: Buffer[]): RequestRecord => {
    const answer = new Answer(endpointNamed(name), { outputTokens: 0 }, { keepText: true });
    answer.head({ status: 200, statusText: 'OK' });
    for (const piece of pieces) answer.bytes(piece, 0, piece.length, 1);
    answer.end(1);
    return answer.record(spec, 0, 0);
  };
  const whole = recordOf(streamOf(() => '\n'));

  it('reads three tokens', () => {
    expect(whole).toMatchObject({ outcome: 'ok', text: texts.join(''), malformedEvents: 0 });
    expect(whole.tokenTimesS).toHaveLength(dialect?.finishIsToken ? 4 : 3);
  });

  it.each([
    ['LF', '\n', ''],
    ['CRLF', '\r\n', ''],
    ['CR', '\r', ''],
    ['CRLF and a byte order mark', '\r\n', '\ufeff'],
  ])('reads the same with %s, cut anywhere (cases 14 and 16)', (_, newline, opening) => {
    const bytes = streamOf(() => newline, opening);
    for (let at = 0; at <= bytes.length; at++)
      expect(recordOf(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(whole);
    expect(recordOf(...Array.from(bytes, (_byte, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
  });

  it('reads the same with lines of every kind, cut in many pieces', () => {
    fc.assert(
      fc.property(fc.array(endings, { minLength: 40, maxLength: 40 }), fc.array(fc.nat(2000)), (ends, cuts) => {
        const bytes = streamOf((line) => ends[line % ends.length] ?? '\n');
        const at = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
        expect(recordOf(...at.slice(1).map((end, i) => bytes.subarray(at[i], end)))).toEqual(whole);
      }),
    );
  });
});
