// Reads what was recorded of real engines: test/fixtures/engines.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '../fixtures/engines');
const read = (...path) => readFileSync(join(fixtures, ...path), 'utf8');

/** The lines of a log with their times, seconds since the start; a line without a time has that of the line before. */
export function logLines(recording, name) {
  const lines = [];
  for (const line of read(recording, 'logs', `${name}.log`).split('\n').slice(1)) {
    const timed = /^ *(\d+\.\d{3}) ?(.*)$/.exec(line);
    lines.push(timed ? { atS: Number(timed[1]), text: timed[2] } : { atS: lines.at(-1)?.atS ?? 0, text: line });
  }
  if (lines.at(-1)?.text === '') lines.pop();
  return lines;
}

/** What was answered to one request: status, content type, body. */
export function exchange(recording, name) {
  const { raw } = exchangesOf(recording)[name];
  const end = raw.indexOf('\r\n\r\n');
  const [first, ...headers] = raw.slice(0, end).split('\r\n');
  const body = raw.slice(end + 4);
  const isChunked = headers.some((header) => /^transfer-encoding: chunked/i.test(header));
  return {
    status: Number(first.split(' ')[1]),
    type: headers.find((header) => /^content-type: /i.test(header))?.slice(14),
    body: isChunked ? unchunked(body) : body,
  };
}

const known = new Map();
function exchangesOf(recording) {
  if (!known.has(recording)) known.set(recording, JSON.parse(read(recording, 'exchanges.json')));
  return known.get(recording);
}

/** Chunk sizes count bytes, the recorded text has characters. */
function unchunked(text) {
  const bytes = Buffer.from(text, 'utf8');
  const parts = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The events of a recorded stream, sorted by what they are for. */
export function streamEvents(recording, name) {
  const events = exchange(recording, name)
    .body.split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)));
  const choice = (event) => event.choices[0];
  const textOf = (event) => choice(event)?.delta?.content ?? choice(event)?.text ?? '';
  return {
    first: events.filter((event) => choice(event)?.delta?.role !== undefined && textOf(event) === ''),
    tokens: events.filter((event) => textOf(event) !== '' && !choice(event).finish_reason),
    last: events.filter((event) => choice(event)?.finish_reason).map(wordless),
    usage: events.filter((event) => event.choices.length === 0),
  };
}

/** The event that ends a stream, without the token that it may carry. */
function wordless(event) {
  const [{ delta, text, ...rest }] = event.choices;
  const empty = delta === undefined ? { text: '' } : { delta: { ...delta, content: '' } };
  return { ...event, choices: [{ ...rest, ...empty }] };
}

/** A help text or the version, without the two lines about how it was asked for. */
export const printed = (recording, name) =>
  read(recording, 'help', `${name}.txt`)
    .split('\n')
    .filter((line) => !line.startsWith('# '))
    .join('\n');

export const metrics = (recording, name) =>
  existsSync(join(fixtures, recording, `${name}.txt`)) ? read(recording, `${name}.txt`) : '';
