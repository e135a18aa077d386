import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint, EventReader } from '../../src/endpoints/endpoint.ts';
import { endpointNamed } from '../../src/endpoints/table.ts';
import { Answer } from '../../src/load/answer.ts';
import type { Tally } from '../../src/load/tally.ts';
import type { RequestRecord } from '../../src/records/request.ts';

type Fields = Record<string, unknown>;

const spec = { index: 0, prompt: 'x', promptTokens: 1, outputTokens: 8 };

function feed(answer: Answer, text: string, atS: number): void {
  const bytes = Buffer.from(text);
  answer.bytes(bytes, 0, bytes.length, atS);
}

/** The record of a body that comes in these pieces, one a second. */
function read(
  backend: string,
  pieces: readonly Buffer[],
  parseAll: boolean,
  tally: Tally = { outputTokens: 0 },
): RequestRecord {
  const answer = new Answer(endpointNamed(backend), tally, { keepText: true, parseAll });
  answer.head({ status: 200, statusText: 'OK' });
  pieces.forEach((piece, i) => void answer.bytes(piece, 0, piece.length, i + 1));
  answer.end(pieces.length + 1);
  return answer.record(spec, 0, 0);
}

/** How each dialect says a token, and what else may vary in its events. */
const dialects: Readonly<Record<string, (text: string, more: Fields) => Fields>> = {
  openai: (text, more) => ({ id: 'c-1', choices: [{ index: 0, text, finish_reason: null }], ...more }),
  'openai-chat': (content, more) => ({ id: 'c-1', choices: [{ index: 0, delta: { content } }], ...more }),
  sglang: (text, more) => ({ text, meta_info: { completion_tokens: 3 }, ...more }),
  tgi: (text, more) => ({ token: { id: 1, text, special: false }, generated_text: null, ...more }),
  'llama.cpp': (content, more) => ({ content, stop: false, ...more }),
  'tensorrt-llm': (text_output, more) => ({ model_name: 'm', text_output, ...more }),
};

const otherId = { id: 'c-other' };

const texts = fc.oneof(
  fc.constantFrom(' the', 'a', '', ' ', '"', '\\', '\n', 'é', '语', '\u2028', 'servetune?', 'c-1', 'null', '0', '[DONE]'),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
); // biome-ignore format: one line of texts
const mores: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constantFrom<Fields>(
    { created: 1 },
    { created: 2 },
    { usage: null },
    { usage: { prompt_tokens: 4, completion_tokens: 2 } },
    { error: { message: 'out of tokens' } },
    { choices: [{ index: 0, text: 'b', delta: { reasoning: 'b' }, finish_reason: 'stop' }] },
    { choices: [] },
  ),
);
const event = fc.oneof(
  { weight: 8, arbitrary: fc.record({ text: texts, more: mores }) },
  fc.constantFrom(': comment', 'event: message', 'data: {"odd', 'data: [DONE]', 'id: 4', ''),
);
const steps = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 });

describe.each(Object.keys(dialects))('%s', (backend) => {
  const say = dialects[backend] as (text: string, more: Fields) => Fields;

  it('reads by a glance what the parser reads, whatever comes and however it is cut', () => {
    const stream = fc.record({
      events: fc.array(event, { maxLength: 14 }),
      end: fc.constantFrom('\n', '\r\n', '\r'),
      space: fc.constantFrom('', ' '),
      ascii: fc.boolean(),
      steps,
    });
    fc.assert(
      fc.property(stream, ({ events, end, space, ascii, steps: sizes }) => {
        const lines = events.map((one) => {
          if (typeof one === 'string') return one + end + end;
          let json = JSON.stringify(say(one.text, one.more));
          // Python writes other characters as escapes unless it is told not to.
          if (ascii) json = json.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
          return `data:${space}${json}${end}${end}`;
        });
        const body = Buffer.from(lines.join(''));
        const pieces: Buffer[] = [];
        for (let at = 0, i = 0; at < body.length; i++) {
          const size = sizes[i % sizes.length] as number;
          pieces.push(body.subarray(at, at + size));
          at += size;
        }
        const parsed = read(backend, pieces, true);
        expect(read(backend, pieces, false)).toEqual(parsed);
        // Another answer of the load, with an id of its own, has shown the shape before.
        const tally: Tally = { outputTokens: 0 };
        const other = ['one', 'two'].map((text) => `data:${space}${JSON.stringify({ ...say(text, {}), ...otherId })}`);
        read(backend, [Buffer.from(other.map((line) => line + end + end).join(''))], false, tally);
        expect(read(backend, pieces, false, tally)).toEqual(parsed);
      }),
      { numRuns: 400 },
    );
  });
});

/** The chat dialect, counting the events that its reader was given. */
function countingParses(): { readonly endpoint: Endpoint; parsed: number } {
  const chat = endpointNamed('openai-chat');
  const counting = {
    parsed: 0,
    endpoint: {
      ...chat,
      reader(): EventReader {
        const reader = chat.reader();
        return (event) => {
          counting.parsed++;
          return reader(event);
        };
      },
    },
  };
  return counting;
}

it('parses no token of an answer whose shape another answer had', () => {
  const counting = countingParses();
  const tally: Tally = { outputTokens: 0 };
  const answer = (id: string): Answer => {
    const one = new Answer(counting.endpoint, tally, { keepText: true });
    one.head({ status: 200, statusText: 'OK' });
    for (const content of [' one', ' two', ' three']) {
      feed(one, `data: ${JSON.stringify({ id, choices: [{ delta: { content } }] })}\n\n`, 1);
    }
    return one;
  };
  answer('chat-1');
  const before = counting.parsed;
  expect(answer('chat-22').record(spec, 0, 0)).toMatchObject({
    firstEventS: 1,
    outputTokens: 3,
    text: ' one two three',
  });
  expect(counting.parsed).toBe(before);
});

it('parses the first of many events of one shape, and no other', () => {
  const counting = countingParses();
  const answer = new Answer(counting.endpoint, { outputTokens: 0 }, { keepText: true });
  answer.head({ status: 200, statusText: 'OK' });
  const token = (content: string): string =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ delta: { content } }] })}\n\n`;
  feed(answer, token('') + token(' one'), 1);
  feed(answer, token(' two'), 2);
  const before = counting.parsed;
  for (let i = 0; i < 50; i++) feed(answer, token(` word${i}`) + token(' more'), 3 + i);
  expect(counting.parsed).toBe(before);
  feed(answer, 'data: [DONE]\n\n', 60);
  expect(answer.record(spec, 0, 0)).toMatchObject({ outcome: 'ok', outputTokens: 102 });
  expect(answer.record(spec, 0, 0).text).toMatch(/^ one two word0 more word1/);
});
