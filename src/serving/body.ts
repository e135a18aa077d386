import type { IncomingMessage } from 'node:http';
import { messageOf } from '../kit/errors.ts';
import { Refusal } from './refusal.ts';

/** The body of a request, parsed from JSON. Throws a Refusal when it is longer than `maxBytes` (413) or no JSON (400). */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const text = await readText(request, maxBytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, 'bad_json', `the body is not JSON: ${messageOf(error)}`);
  }
}

/** The body of a request. Throws a Refusal when it is longer than `maxBytes` (413). */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = () =>
    new Refusal(413, 'body_too_large', `the body is larger than ${maxBytes} bytes, the most that this server takes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  return new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) reject(tooLarge());
      else chunks.push(chunk);
    });
    request.on('end', () => resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()));
    request.on('close', () => reject(new Refusal(400, 'client_gone', 'the client went away')));
  });
}
