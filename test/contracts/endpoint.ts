import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Endpoint } from '../../src/endpoints/endpoint.ts';
import { openHttp } from '../../src/load/http.ts';
import { Load } from '../../src/load/load.ts';
import { requestUrl } from '../../src/load/target.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { type Replay, type Script, type Seen, type Step, startReplay } from '../load/replay.ts';

type Fields = Record<string, unknown>;

/** How a dialect says what every dialect can say. */
export interface Dialect {
  /** The fields of a choice, around a `delta` (chat) or flat (completions). */
  choice(delta: Fields): Fields;
  /** The field that holds a token of the answer. */
  readonly text: string;
}

export const dialects: Readonly<Record<string, Dialect>> = {
  'openai-chat': { choice: (delta) => ({ index: 0, delta }), text: 'content' },
  openai: { choice: (delta) => ({ index: 0, ...delta }), text: 'text' },
};

interface Case {
  readonly name: string;
  readonly case: number;
  readonly only?: string;
  readonly type?: string;
  readonly steps: readonly ('DONE' | (Fields & { ms?: number }))[];
  readonly expect: Fields;
}

const cases: readonly Case[] = parse(readFileSync(join(import.meta.dirname, '../fixtures/streams/cases.yaml'), 'utf8'));

/** What every request dialect must do, shown on the recorded streams against a real server. */
export function endpointContract(endpoint: Endpoint): void {
  const dialect = dialects[endpoint.name];
  if (!dialect) throw new Error(`test/contracts/endpoint.ts does not know how ${endpoint.name} says things`);

  it('asks for a stream with usage, the length, and the pinned length only when it is asked for', () => {
    const spec = { index: 0, prompt: 'Say "hi"', promptTokens: 3, outputTokens: 17 };
    const options = { model: 'm', temperature: 0.5, ignoreEos: true };
    const body = endpoint.body(spec, options);
    expect(body).toMatchObject({ model: 'm', temperature: 0.5, stream: true, stream_options: { include_usage: true } });
    expect(body.ignore_eos).toBe(true);
    expect(body.max_completion_tokens ?? body.max_tokens).toBe(17);
    expect(JSON.stringify(body)).toContain('Say \\"hi\\"');
    expect(endpoint.body(spec, { ...options, ignoreEos: false })).not.toHaveProperty('ignore_eos');
    expect(endpoint.path).toMatch(/^\/v1\//);
  });

  it.each([
    null,
    undefined,
    5,
    'text',
    [],
    {},
    { choices: null },
    { choices: [null, 5] },
    { choices: [{ delta: null }] },
  ])('survives %j', (event) => {
    expect(endpoint.read(event)).toMatchObject({ token: false, answer: false });
  });

  it('gives the text of a token', () => {
    expect(endpoint.read({ choices: [dialect.choice({ [dialect.text]: ' the' })] })).toEqual({
      token: true,
      answer: true,
      text: ' the',
    });
  });

  for (const one of cases.filter(({ only }) => only === undefined || only === endpoint.name)) {
    it(`case ${one.case}: ${one.name}`, async () => {
      await using replay = await startReplay(scriptOf(one, dialect));
      const { record, startS } = await sendOne(replay, endpoint);
      const [seen] = replay.seen;
      expect(seen?.url).toBe(endpoint.path);
      check(record, one, startS, seen as Seen);
    });
  }
}

/** Sends one request and gives its record, with the start of the load on the common clock. */
async function sendOne(replay: Replay, endpoint: Endpoint): Promise<{ record: RequestRecord; startS: number }> {
  const { signal } = new AbortController();
  const target = { baseUrl: replay.baseUrl, endpoint, model: 'm' };
  const transport = await openHttp({ url: requestUrl(target), headers: {}, preconnect: 0, signal });
  try {
    const load = new Load(
      target,
      {
        requests: [{ index: 0, prompt: 'x', promptTokens: 1, outputTokens: 8 }],
        minRequests: 1,
        minDurationS: 0,
        maxConcurrency: 1,
        requestRate: Number.POSITIVE_INFINITY,
        seed: 0,
        temperature: 0,
        ignoreEos: true,
      },
      { signal },
      transport,
      undefined,
    );
    const { records } = await load.run();
    expect(records).toHaveLength(1);
    return { record: records[0] as RequestRecord, startS: load.startS };
  } finally {
    transport.close();
  }
}

function check(record: RequestRecord, one: Case, startS: number, seen: Seen): void {
  const wanted = one.expect;
  const context = JSON.stringify(record);
  const equal = (key: string, value: unknown): void => {
    if (key in wanted) expect(value, `${key} of ${context}`).toEqual(wanted[key]);
  };
  equal('outcome', record.outcome);
  equal('tokens', record.tokenTimesS.length);
  equal('output_tokens', record.outputTokens);
  equal('by', record.outputTokensBy);
  equal('malformed', record.malformedEvents);
  equal('finish', record.finishReason);
  equal('prompt_tokens', record.serverPromptTokens);
  equal('reads', new Set(record.tokenTimesS).size);
  if (wanted.outcome === 'ok') expect(record.error).toBeUndefined();
  else expect(record.error).toContain(wanted.error ?? '');

  // A time must lie after its step was written, and before the next one that came after a long pause: long, because a
  // busy machine takes its time to deliver even from one end of a process to the other.
  const times: [string, number | undefined][] = [
    ['first_event', record.firstEventS],
    ['first_token', record.firstTokenS],
    ['first_answer', record.firstAnswerTokenS],
    ['last_token', record.lastTokenS],
    ['end', record.endS],
  ];
  for (const [key, timeS] of times) {
    const step = wanted[key];
    if (step === undefined) continue;
    if (step === 'none') {
      expect(timeS, key).toBeUndefined();
      continue;
    }
    const index = Number(step);
    const atS = startS + (timeS ?? Number.NaN);
    expect(atS, `${key} not before step ${index}`).toBeGreaterThan((seen.writtenS[index] as number) - 2e-6);
    const later = one.steps.findIndex((s, i) => i > index && s !== 'DONE' && (s.ms ?? 0) >= 150);
    const laterS = seen.writtenS[later];
    if (laterS !== undefined) expect(atS, `${key} not after step ${later}`).toBeLessThan(laterS);
  }
  expect(record.sendS).toBeGreaterThanOrEqual(record.intendedSendS);
  expect(record.endS).toBeGreaterThanOrEqual(record.lastTokenS ?? record.sendS);
}

function scriptOf(one: Case, dialect: Dialect): Script {
  return {
    headers: { 'content-type': one.type ?? 'text/event-stream' },
    steps: one.steps.map((step) => stepOf(step, dialect)),
  };
}

function stepOf(step: Case['steps'][number], dialect: Dialect): Step {
  const data = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
  if (step === 'DONE') return { afterMs: 0, bytes: data('[DONE]') };
  const { ms = 0, T, role, F, U, delta, usage, event, bytes, close } = step;
  const afterMs = ms;
  const withUsage = usage === undefined ? {} : { usage };
  const chunk = (choice: Fields): Step => ({
    afterMs,
    bytes: data({ object: 'chunk', choices: [choice], usage: null, ...withUsage }),
  });
  if (close !== undefined) return { afterMs, close: close as 'end' | 'hold' | 'reset' };
  if (bytes !== undefined) return { afterMs, bytes: String(bytes) };
  if (event !== undefined) return { afterMs, bytes: data(event) };
  if (U !== undefined) return { afterMs, bytes: data({ object: 'chunk', choices: [], usage: U }) };
  if (T !== undefined) return chunk({ ...dialect.choice({ [dialect.text]: T }), finish_reason: null });
  if (F !== undefined) return chunk({ ...dialect.choice((delta ?? {}) as Fields), finish_reason: F });
  if ('role' in step) {
    return chunk({
      ...dialect.choice({ role: 'assistant', ...(role === 'absent' ? {} : { [dialect.text]: role }) }),
      finish_reason: null,
    });
  }
  return chunk({ ...dialect.choice(delta as Fields), finish_reason: null });
}
