import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResponseReader } from '../../src/load/response.ts';
import type { ResponseHead } from '../../src/load/transport.ts';

interface Seen {
  heads: ResponseHead[];
  body: string;
  complete: number;
  reusable: boolean;
  failed?: string;
}

/** Reads the pieces as a connection brings them, the end of the connection last where it is said. */
function read(pieces: readonly Buffer[], { closes = false } = {}): Seen {
  const reader = new ResponseReader();
  const seen: Seen = { heads: [], body: '', complete: 0, reusable: false };
  const sink = {
    head: (head: ResponseHead) => void seen.heads.push(head),
    body: (bytes: Buffer, start: number, end: number) => {
      seen.body += bytes.toString('latin1', start, end);
    },
    complete: () => {
      seen.complete++;
    },
  };
  // As with a socket's one buffer, what was read before is written over.
  const shared = Buffer.alloc(1 << 16);
  try {
    for (const piece of pieces) {
      piece.copy(shared);
      reader.push(shared, 0, piece.length, sink);
    }
    if (closes && reader.endsHere()) seen.complete++;
  } catch (error) {
    seen.failed = (error as Error).message;
  }
  seen.reusable = reader.reusable;
  return seen;
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const lines = (...all: string[]): string => all.map((line) => `${line}\r\n`).join('');
const chunk = (text: string, more = ''): string => `${text.length.toString(16)}${more}\r\n${text}\r\n`;

const chunked = lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '');
const whole = {
  'a body of known length': `${lines('HTTP/1.1 200 OK', 'content-length: 5', '')}hello`,
  'an empty body': lines('HTTP/1.1 500 Internal Server Error', 'Content-Length:0', ''),
  chunks: `${chunked + chunk('data: 1\n\n') + chunk('x'.repeat(300)) + chunk('data: [DONE]\n\n')}0\r\n\r\n`,
  'chunks with extensions and trailers': `${chunked + chunk('one', ';name="v"') + chunk('two', ' ; a')}0;z\r\nx-took: 3\r\ny: z\r\n\r\n`,
  'upper-case sizes and bare line feeds': 'HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\nA\n0123456789\n0\n\n',
  'interim responses first': lines('HTTP/1.1 100 Continue', '') + lines('HTTP/1.1 103 Early Hints', 'link: x', '') + lines('HTTP/1.1 204 No Content', ''),
  'no reason phrase': `${lines('HTTP/1.1 200', 'content-length: 2', '')}ok`,
} as const; // biome-ignore format: one response a line

describe.each(Object.entries(whole))('%s', (_, response) => {
  const expected = read([latin1(response)]);

  it('is one response, and the connection is good for another', () => {
    expect(expected).toMatchObject({ complete: 1, reusable: true });
    expect(expected.heads).toHaveLength(1);
    expect(expected.failed).toBeUndefined();
  });

  it('is the same wherever it is cut', () => {
    for (let cut = 1; cut < response.length; cut++) {
      expect(read([latin1(response.slice(0, cut)), latin1(response.slice(cut))])).toEqual(expected);
    }
    expect(read([...response].map(latin1))).toEqual(expected);
  });
});

it('passes on what the head says', () => {
  const head = lines('HTTP/1.1 302 Found  it', 'LOCATION:  http://elsewhere/ ', 'content-length: 0', '');
  expect(read([latin1(head)]).heads).toEqual([{ status: 302, statusText: 'Found  it', location: 'http://elsewhere/' }]);
});

it('reads bodies in any pieces as they are', () => {
  const body = fc.uint8Array({ minLength: 1, maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.array(body, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 60 })), (parts, steps) => {
      const response = latin1(`${chunked + parts.map((part) => chunk(part)).join('')}0\r\n\r\n`);
      const pieces: Buffer[] = [];
      for (let at = 0, i = 0; at < response.length; i++) {
        const step = steps[i % Math.max(1, steps.length)] ?? 7;
        pieces.push(response.subarray(at, at + step));
        at += step;
      }
      expect(read(pieces)).toMatchObject({ body: parts.join(''), complete: 1, reusable: true });
    }),
  );
});

describe('a connection is not used again', () => {
  it.each([
    ['when the server says so', `${lines('HTTP/1.1 200 OK', 'Connection: Close', 'content-length: 2', '')}ok`],
    ['when the server is of HTTP/1.0', `${lines('HTTP/1.0 200 OK', 'content-length: 2', '')}ok`],
    ['when more came than the body', `${lines('HTTP/1.1 200 OK', 'content-length: 2', '')}okHTTP`],
    ['when more came than the chunks', `${chunked + chunk('ok')}0\r\n\r\nHTTP/1.1 408`],
  ])('%s', (_, response) => {
    expect(read([latin1(response)])).toMatchObject({ body: 'ok', complete: 1, reusable: false });
  });

  it('when the end of the body is the end of the connection', () => {
    const response = latin1(`${lines('HTTP/1.1 200 OK', 'content-type: text/event-stream', '')}data: 1\n\n`);
    expect(read([response])).toMatchObject({ complete: 0, reusable: false });
    expect(read([response], { closes: true })).toMatchObject({ body: 'data: 1\n\n', complete: 1, reusable: false });
  });
});

it('keeps a connection of HTTP/1.0 whose server offers it', () => {
  const response = lines('HTTP/1.0 200 OK', 'connection: Keep-Alive', 'content-length: 0', '');
  expect(read([latin1(response)]).reusable).toBe(true);
});

it('knows a body that was cut off', () => {
  const cut = `${lines('HTTP/1.1 200 OK', 'content-length: 10', '')}hello`;
  expect(read([latin1(cut)], { closes: true })).toMatchObject({ body: 'hello', complete: 0 });
  expect(read([latin1(chunked + chunk('hello'))], { closes: true })).toMatchObject({ body: 'hello', complete: 0 });
});

it.each([
  ['SSH-2.0-OpenSSH_9.6\r\n\r\n', 'does not speak HTTP/1.1'],
  ['HTTP/2 200\r\n\r\n', 'does not speak HTTP/1.1'],
  [lines('HTTP/1.1 200 OK', 'content-length: many', ''), 'the length'],
  [`${chunked}zz\r\n`, 'not a number'],
  [`${chunked}\r\n`, 'no size'],
  [`${chunked}3\r\nhello\r\n`, 'longer than it says'],
  [`${chunked}fffffffffffff\r\n`, 'impossibly large'],
  [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(300_000)}`, 'does not end'],
])('refuses what is no response: %j', (response, message) => {
  const pieces = Array.from({ length: Math.ceil(response.length / 50_000) }, (_, i) =>
    latin1(response.slice(i * 50_000, (i + 1) * 50_000)),
  );
  expect(read(pieces).failed).toContain(message);
});
