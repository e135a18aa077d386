import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { now } from '../kit/clock.ts';
import { Course } from './course.ts';
import { openHttp } from './http.ts';
import { Lane } from './lane.ts';

const REQUESTS = 32;
const EVENTS = 32;
/** Given up after that. */
const LONGEST_MS = 2000;
/** Reads as one token in every dialect. */
const event = `data: ${JSON.stringify({
  id: 'chatcmpl-0123456789abcdef',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'warm-up',
  choices: [{ index: 0, text: ' the', delta: { content: ' the' }, logprobs: null, finish_reason: null }],
  text: ' the',
  text_output: ' the',
  token: { text: ' the' },
  content: ' the',
})}\n\n`;

const body = Buffer.from('{"prompt":"warm"}');

let warm = false;

/**
 * Sends a few requests to a server of our own on loopback and forgets them, once a process. JavaScript is compiled as it
 * is used: without this the first requests of a load go out tens of milliseconds late and are read late, and that would
 * count against the server. Takes about a third of a second; where it cannot be done, the load is only less exact.
 */
export async function warmUpClient(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  if (warm || signal.aborted) return;
  warm = true;
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let sent = 0;
      const go = (): void => {
        response.write(event);
        if (++sent < EVENTS) setImmediate(go);
        else response.end('data: [DONE]\n\n');
      };
      go();
    });
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const baseUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const transport = await openHttp({ url: baseUrl, headers: {}, preconnect: 8, signal });
    try {
      const lane = new Lane({
        thread: 0,
        course: Course.of(new Float64Array(REQUESTS), 1),
        plan: { minRequests: REQUESTS, minDurationS: 0 },
        endpoint,
        limit: 16,
        transport,
        asked: (index) => ({ index, promptTokens: 1, outputTokens: EVENTS }),
        body: () => body,
        onRecord() {},
      });
      const limit = setTimeout(() => lane.abandon('it takes too long'), LONGEST_MS);
      await lane.run(now());
      clearTimeout(limit);
    } finally {
      transport.close();
    }
  } catch {
    // No loopback here: nothing is lost but the head start.
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
