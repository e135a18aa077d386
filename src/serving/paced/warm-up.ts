import { connect } from 'node:net';
import { startPaced } from './server.ts';

const connections = 50;
const requestsEach = 4;
const tokens = 50;

/**
 * Lets the compiler of this process see the hot paths before anything is measured: the first thousand requests of a
 * fresh process take several times as long as the later ones, and clients would see that as the time to first token.
 * Serves itself a few hundred answers, paced and unpaced, for about half a second.
 */
export async function warmUp(): Promise<void> {
  for (const itlS of [0, 0.002]) {
    const server = await startPaced({ itlS });
    await Promise.all(Array.from({ length: connections }, () => ask(server.port, requestsEach)));
    await server.close();
  }
}

/** Sends requests one after the other over one connection. It is only a warm-up: failures end it, and that is all. */
function ask(port: number, requests: number): Promise<void> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'warm up' }], max_tokens: tokens });
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return new Promise((resolve) => {
    let left = requests;
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setNoDelay(true);
    socket.on('data', (bytes) => {
      if (bytes.indexOf('data: [DONE]') < 0) return;
      if (--left > 0) socket.write(request);
      else socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}
