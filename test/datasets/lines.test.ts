import fc from 'fast-check';
import { expect, it } from 'vitest';
import { textLines } from '../../src/datasets/reading/lines.ts';
import { fileOf } from './files.ts';

const { signal } = new AbortController();
const linesOf = async (content: string | Uint8Array) => {
  const lines = [];
  for await (const line of textLines(fileOf(content), signal)) lines.push(line);
  return lines;
};
const textsOf = async (content: string | Uint8Array) => (await linesOf(content)).map(({ text }) => text);

it('ends lines as Python does, whatever was written with', async () => {
  expect(await textsOf('a\nb\r\nc\rd')).toEqual(['a', 'b', 'c', 'd']);
  expect(await textsOf('a\n\n\r\n\rb\n')).toEqual(['a', '', '', '', 'b']);
  expect(await textsOf('a\r')).toEqual(['a']);
});

it('leaves other separators in the text', async () => {
  expect(await textsOf('a\u2028b\u2029c\u0085d\x0be\n')).toEqual(['a\u2028b\u2029c\u0085d\x0be']);
});

it('drops a byte order mark in front, and reads broken UTF-8 as U+FFFD', async () => {
  expect(await textsOf('\ufeffa\n\ufeffb')).toEqual(['a', '\ufeffb']);
  expect(await textsOf(Uint8Array.of(0x61, 0xff, 0x0a, 0x62))).toEqual(['a\ufffd', 'b']);
});

it('tells which line has no end', async () => {
  expect(await linesOf('a\nb')).toEqual([
    { number: 1, text: 'a', ended: true },
    { number: 2, text: 'b', ended: false },
  ]);
  expect((await linesOf('a\r')).map(({ ended }) => ended)).toEqual([true]);
});

it('reads lines of several megabytes, cut anywhere by the reads', async () => {
  const long = 'é'.repeat(3_000_000);
  const [first, second, third] = await textsOf(`${long}\r\n${long}x\n`);
  expect(first === long && second === `${long}x` && third === undefined).toBe(true);
});

it('gives back any lines that were joined', async () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\ufeff]/g, ''));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1 }), fc.constantFrom('\n', '\r\n', '\r'), async (lines, end) => {
      expect(await textsOf(lines.map((text) => text + end).join(''))).toEqual(lines);
    }),
    { numRuns: 50 },
  );
});
