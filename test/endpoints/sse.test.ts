import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SseKind, SseSplitter } from '../../src/endpoints/sse.ts';

type Event = [text: string, kind: SseKind];

function split(...chunks: Buffer[]): Event[] {
  const events: Event[] = [];
  const splitter = new SseSplitter((text, kind) => events.push([text, kind]));
  for (const chunk of chunks) {
    // The memory of a chunk is the caller's again after `push`.
    const lent = Buffer.from(chunk);
    splitter.push(lent);
    lent.fill(0x2a);
  }
  splitter.end();
  return events;
}

const splitText = (text: string): Event[] => split(Buffer.from(text));
const data = (...texts: string[]): Event[] => texts.map((text) => [text, 'data']);

describe('one stream, however it is written', () => {
  it.each([
    ['LF', 'data: a\n\ndata: b\n\n'],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\r\rdata: b\r\r'],
    ['mixed', 'data: a\n\r\ndata: b\r\r\n'],
    ['no space', 'data:a\n\ndata:b\n\n'],
    ['other fields', 'event: x\nid: 7\ndata: a\nretry: 5\n\ndata: b\nfoo: bar\n\n'],
    ['comments', ': ping\n\n:\ndata: a\n: in between\n\n:\n\ndata: b\n\n'],
    ['a byte order mark', '\ufeffdata: a\n\ndata: b\n\n'],
    ['no blank line at the end', 'data: a\n\ndata: b'],
    ['half a blank line at the end', 'data: a\n\ndata: b\r\n'],
    ['many blank lines', '\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n'],
    ['events without data', 'event: x\n\ndata\n\ndata:\n\ndata: a\n\nid: 5\n\ndata: b\n\n'],
  ])('%s', (_, text) => {
    expect(splitText(text)).toEqual(data('a', 'b'));
  });
});

it('joins the data lines of one event', () => {
  expect(splitText('data: {\ndata:  "a": 1\ndata: }\n\n')).toEqual(data('{\n "a": 1\n}'));
});

it('keeps a second space, inner spaces and spaces at the end', () => {
  expect(splitText('data:   a b  \n\n')).toEqual(data('  a b  '));
});

it('ends lines at CR and LF only', () => {
  expect(splitText('data: a\u2028b\u2029c\u0085d\u000be\n\n')).toEqual(data('a\u2028b\u2029c\u0085d\u000be'));
});

it('knows a field by its whole name', () => {
  expect(splitText('dat: 1\ndatax: 2\n data: 3\nData: 4\nerrors: 5\ndata : 6\n\n')).toEqual([]);
});

it('tells errors apart, and tells them first', () => {
  expect(splitText('error: {"code":400}\n\ndata: [DONE]\n\n')).toEqual([
    ['{"code":400}', 'error'],
    ['[DONE]', 'data'],
  ]);
  expect(splitText('data: [DONE]\nerror: x\n\n')).toEqual([
    ['x', 'error'],
    ['[DONE]', 'data'],
  ]);
  expect(splitText('event: error\ndata: x\n\ndata: y\n\n')).toEqual([
    ['x', 'error'],
    ['y', 'data'],
  ]);
});

const newline = fc.constantFrom('\n', '\r\n', '\r');
const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('data', 'data:', 'data:x', 'data:  y', 'data: \u2028\u{1f600}\u4f60') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(': comment', ':', 'event: error', 'event: x', 'id: 1', 'error: {"code":1}', 'junk'),
  },
  { weight: 5, arbitrary: fc.constant('') },
);
const stream = fc.array(fc.tuple(line, newline), { maxLength: 25 });

/** The standard's algorithm, on text that is all there. */
function reference(parts: readonly (readonly [string, string])[]): Event[] {
  const events: Event[] = [];
  let lines: string[] = [];
  let errors: string[] = [];
  let type = '';
  const dispatch = (): void => {
    if (errors.join('\n') !== '') events.push([errors.join('\n'), 'error']);
    if (lines.join('\n') !== '') events.push([lines.join('\n'), type === 'error' ? 'error' : 'data']);
    lines = [];
    errors = [];
    type = '';
  };
  const text = parts.map(([content, end]) => content + end).join('');
  for (const content of text.split(/\r\n|\r|\n/)) {
    if (content === '') dispatch();
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(content) ?? [];
    if (field === 'data') lines.push(value);
    if (field === 'error') errors.push(value);
    if (field === 'event') type = value;
  }
  dispatch();
  return events;
}

it('gives the events of the standard, whatever the stream', () => {
  fc.assert(
    fc.property(stream, (parts) => {
      expect(splitText(parts.flat().join(''))).toEqual(reference(parts));
    }),
  );
});

it('gives the same events for every cut', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 20 }), (parts, cuts) => {
      const bytes = Buffer.from(parts.flat().join(''));
      const whole = split(bytes);
      const at = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
      expect(split(...at.slice(1).map((end, i) => bytes.subarray(at[i], end)))).toEqual(whole);
      expect(split(...Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
    }),
  );
});

it('gives the same events for a cut at each position', () => {
  const bytes = Buffer.from(
    '\ufeffdata: {"a":"\u4f60 \u{1f600} b"}\r\n\r\n: c\r\rdata:\ndata: x\n\nerror: e\r\n\r\ndata: [DONE]',
  );
  const whole = split(bytes);
  expect(whole).toEqual([...data('{"a":"\u4f60 \u{1f600} b"}', '\nx'), ['e', 'error'], ...data('[DONE]')]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(split(bytes.subarray(0, cut), bytes.subarray(cut)), `cut at ${cut}`).toEqual(whole);
  }
});

it('gets through a long line in small pieces', () => {
  const text = 'x'.repeat(3_000_000);
  const bytes = Buffer.from(`data: ${text}\n\n`);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, i) =>
    bytes.subarray(i * 100, i * 100 + 100),
  );
  const events = split(...pieces);
  expect(events.length).toBe(1);
  expect(events[0]?.[0].length).toBe(text.length);
});

it('keeps no more than 4 MiB of a line without an end, and says so', () => {
  const [[said, kind] = ['', 'data']] = split(Buffer.from('data: '), ...Array(5).fill(Buffer.alloc(1 << 20, 'x')));
  expect([said, kind]).toEqual(['the stream has a line of over 4 MiB', 'error']);
});
