import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Endpoint, RequestOptions, Wish } from '../../src/endpoints/endpoint.ts';
import { unsupported } from '../../src/endpoints/sampling.ts';
import { atOnce } from '../../src/load/arrivals.ts';
import { runLoad } from '../../src/load/runner.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import type { Sampling } from '../../src/records/workload.ts';
import { type Replay, type Script, type Seen, type Step, startReplay } from '../load/replay.ts';
import { type Dialect, dialects } from './dialects.ts';

type Fields = Record<string, unknown>;

interface Case {
  readonly name: string;
  readonly case: number;
  readonly only?: string | readonly string[];
  readonly except?: string | readonly string[];
  readonly status?: number;
  readonly type?: string;
  /** Sent again, cut in two at every byte. */
  readonly cut?: boolean;
  readonly steps: readonly ('DONE' | (Fields & { ms?: number }))[];
  readonly expect: Fields;
}

function casesOf(name: string, { files }: Dialect): readonly Case[] {
  const folder = join(import.meta.dirname, '../fixtures/streams');
  const cases: Case[] = files.flatMap((file) => parse(readFileSync(join(folder, `${file}.yaml`), 'utf8')));
  const lists = (names: Case['only']): boolean => names !== undefined && [names].flat().includes(name);
  return cases.filter(({ only, except }) => (only === undefined || lists(only)) && !lists(except));
}

const sampling: Required<Sampling> = {
  temperature: 0.5,
  top_p: 0.9,
  top_k: 7,
  min_p: 0.1,
  frequency_penalty: 0.3,
  presence_penalty: 0.4,
  repetition_penalty: 1.2,
};

/** What every request dialect must do, shown on recorded streams against a real server. */
export function endpointContract(endpoint: Endpoint): void {
  const dialect = dialects[endpoint.name];
  if (!dialect) throw new Error(`test/contracts/dialects.ts does not know how ${endpoint.name} says things`);
  const spec = { index: 0, prompt: 'Say "hi"', promptTokens: 3, outputTokens: 17 };
  const plain: RequestOptions = { model: 'm', sampling: {}, ignoreEos: false, compat: 'servetune' };
  const bodyOf = (more: Partial<RequestOptions> = {}): string =>
    JSON.stringify(endpoint.body(spec, { ...plain, ...more }));

  it('asks for the prompt and the length, and pins the length only when it is asked to', () => {
    expect(bodyOf()).toContain('Say \\"hi\\"');
    if (endpoint.generates) expect(bodyOf()).toMatch(/:17\b/);
    expect(bodyOf()).not.toMatch(/ignore_eos|min_tokens/);
  });

  it('sends what it is asked for, or says that it cannot', () => {
    const wishes: readonly (readonly [Wish, Partial<RequestOptions>])[] = [
      ...(Object.keys(sampling) as (keyof Sampling)[]).map(
        (key) => [key, { sampling: { [key]: sampling[key] } }] as const,
      ),
      ['logprobs', { logprobs: 2 }],
    ];
    for (const [wish, asks] of wishes) {
      const left = unsupported(endpoint, { ...plain, ...asks });
      expect(bodyOf(asks) === bodyOf(), `the body is the same with ${wish}`).toBe(left.includes(wish));
      expect(left.filter((other) => other !== wish)).toEqual([]);
    }
    const adapted = JSON.stringify(endpoint.body({ ...spec, model: 'adapter' }, { ...plain, model: 'adapter' }));
    expect(adapted.includes('"adapter"')).toBe(!unsupported(endpoint, plain, true).includes('lora'));
    expect(bodyOf({ sampling: { top_p: undefined } })).toBe(bodyOf());
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
    { text: 5, meta_info: null, token: 7, content: null, text_output: [], data: [null] },
    { meta_info: { finish_reason: 3, completion_tokens: -1 }, details: 'x', stop: 1, data: [{}] },
  ])('survives %j', (event) => {
    expect(endpoint.reader()(event)).toMatchObject({ token: false, answer: false });
    expect(endpoint.reader()(event).done).toBeUndefined();
  });

  const cases = casesOf(endpoint.name, dialect);
  for (const one of cases) {
    it(`case ${one.case}: ${one.name}`, async () => {
      await using replay = await startReplay(scriptOf(one, dialect));
      const { records, startS } = await send(replay, endpoint);
      const [seen] = replay.seen;
      expect(seen?.url).toBe(endpoint.path);
      check(records[0] as RequestRecord, one, startS, seen as Seen, dialect);
    });
  }

  it('reads the same wherever the body is cut (cases 14 and 16)', { timeout: 60_000 }, async () => {
    const whole = cases.filter(({ cut }) => cut);
    expect(whole.length).toBeGreaterThan(0);
    for (const one of whole) {
      const script = scriptOf(one, dialect);
      const bytes = Buffer.concat(script.steps.map((step) => Buffer.from(step.bytes ?? '')));
      await using replay = await startReplay((n) => ({ ...script, steps: cutAt(bytes, n) }));
      const { records } = await send(replay, endpoint, bytes.length);
      const [first, ...others] = records.map(timeless);
      expect(first).toMatchObject({ outcome: 'ok' });
      for (const other of others) expect(other).toEqual(first);
      expect(others).toHaveLength(bytes.length - 1);
    }
  });
}

/** Two chunks of HTTP, which a client reads one after the other whether or not they travel together. */
const cutAt = (bytes: Buffer, at: number): readonly Step[] =>
  [bytes.subarray(0, at), bytes.subarray(at)]
    .filter((part) => part.length > 0)
    .map((part) => ({ afterMs: 0, bytes: part }));

/** A record without what differs from one sending to the next. */
function timeless(record: RequestRecord): Fields {
  const { tokenTimesS, emptyChoiceTimesS, ...others } = record;
  const kept = Object.entries(others).filter(([key]) => !/S$|^index$/.test(key));
  return { ...Object.fromEntries(kept), tokens: tokenTimesS.length, empty: emptyChoiceTimesS?.length };
}

/** Sends some requests and gives their records, with the start of the load on the common clock. */
async function send(
  replay: Replay,
  endpoint: Endpoint,
  count = 1,
): Promise<{ records: readonly RequestRecord[]; startS: number }> {
  const { signal } = new AbortController();
  const target = { baseUrl: replay.baseUrl, endpoint, model: 'm' };
  const plan = {
    requests: Array.from({ length: count }, (_, index) => ({ index, prompt: 'x', promptTokens: 1, outputTokens: 8 })),
    minRequests: count,
    minDurationS: 0,
    maxConcurrency: 4,
    arrivals: atOnce,
    ask: { sampling: {}, ignoreEos: true, compat: 'servetune' } as const,
    keepText: true,
  };
  const { records, startS } = await runLoad(target, plan, { signal });
  expect(records).toHaveLength(count);
  return { records: [...records], startS };
}

function check(record: RequestRecord, one: Case, startS: number, seen: Seen, dialect: Dialect): void {
  const wanted = wantedOf(one, dialect);
  const context = JSON.stringify(record);
  const equal = (key: string, value: unknown): void => {
    if (key in wanted) expect(value, `${key} of ${context}`).toEqual(wanted[key]);
  };
  equal('outcome', record.outcome);
  equal('tokens', record.tokenTimesS.length);
  equal('counts', record.tokenCounts ?? 'none');
  equal('empty', record.emptyChoiceTimesS?.length ?? 0);
  equal('output_tokens', record.outputTokens);
  equal('by', record.outputTokensBy);
  equal('malformed', record.malformedEvents);
  equal('malformed_text', record.malformedText);
  equal('finish', record.finishReason);
  equal('prompt_tokens', record.serverPromptTokens ?? 'none');
  equal('cached', record.cachedTokens ?? 'none');
  equal('text', record.text);
  equal('reads', new Set(record.tokenTimesS).size);
  if (wanted.outcome === 'ok') expect(record.error).toBeUndefined();
  else expect(record.error).toContain(wanted.error ?? '');
  expect(record.tokenCounts?.length ?? record.tokenTimesS.length).toBe(record.tokenTimesS.length);

  // A time must lie after its step was written, and before the next one that came after a long pause: long, because a
  // busy machine takes its time to deliver even from one end of a process to the other.
  const times: [string, number | undefined][] = [
    ['first_event', record.firstEventS],
    ['first_token', record.firstTokenS],
    ['first_answer', record.firstAnswerTokenS],
    ['last_token', record.lastTokenS],
    ['last_event', record.lastEventS],
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

/** What is expected, in the terms of one dialect: `end: auto` is where it ends, and its last event may be a token. */
function wantedOf({ steps, expect: wanted }: Case, { endsAt, finishIsToken }: Dialect): Fields {
  const finish = steps.findIndex((step) => step !== 'DONE' && 'F' in step);
  const ends = { DONE: steps.indexOf('DONE'), finish, close: steps.length - 1 };
  const adjusted: Fields = { ...wanted };
  if (wanted.end === 'auto') adjusted.end = ends[endsAt];
  if (finishIsToken && finish >= 0 && wanted.outcome === 'ok') {
    if (typeof wanted.tokens === 'number') adjusted.tokens = wanted.tokens + 1;
    if ('last_token' in wanted) adjusted.last_token = finish;
  }
  return adjusted;
}

function scriptOf(one: Case, dialect: Dialect): Script {
  const before: string[] = [];
  return {
    ...(one.status === undefined ? {} : { status: one.status }),
    headers: { 'content-type': one.type ?? 'text/event-stream' },
    steps: one.steps.map((step) => stepOf(step, dialect, before)),
  };
}

function stepOf(step: Case['steps'][number], dialect: Dialect, before: string[]): Step {
  const data = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
  if (step === 'DONE') return dialect.endsAt === 'DONE' ? { afterMs: 0, bytes: data('[DONE]') } : { afterMs: 0 };
  const { ms: afterMs = 0, T, role, F, U, delta, usage, event, bytes, close } = step;
  const withUsage = usage === undefined ? {} : { usage };
  const sent = (value: Fields): Step => ({ afterMs, bytes: data({ ...value, ...withUsage }) });
  if (close !== undefined) return { afterMs, close: close as 'end' | 'hold' | 'reset' };
  if (bytes !== undefined) return { afterMs, bytes: String(bytes) };
  if (event !== undefined) return { afterMs, bytes: data(event) };
  if (T !== undefined) {
    const token = sent(dialect.token(String(T), before));
    before.push(String(T));
    return token;
  }
  const { choice = (fields) => fields, text = '' } = dialect;
  const chunk = (fields: Fields, finish_reason: unknown): Step =>
    sent({ object: 'chunk', choices: [{ ...choice(fields), finish_reason }], usage: null });
  if (F !== undefined) return delta ? chunk(delta as Fields, F) : sent(dialect.finish(String(F), before));
  if (U !== undefined) return { afterMs, bytes: data({ object: 'chunk', choices: [], usage: U }) };
  if ('role' in step) return chunk({ role: 'assistant', ...(role === 'absent' ? {} : { [text]: role }) }, null);
  return chunk(delta as Fields, null);
}
