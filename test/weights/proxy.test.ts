import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { runToEnd } from '../../src/processes/run.ts';
import { ask } from '../../src/weights/http.ts';
import { proxyFor } from '../../src/weights/proxy.ts';
import { expectFreshBuild } from '../built.ts';
import { signal, wordsOf } from './models.ts';

const fixtures = join(import.meta.dirname, '../fixtures/weights');
const proxy = 'http://proxy:3128';

it.each([
  ['https://hub/x', { HTTPS_PROXY: proxy }, `${proxy}/`],
  ['https://hub/x', { https_proxy: 'proxy:3128' }, `${proxy}/`],
  ['https://hub/x', { ALL_PROXY: proxy }, `${proxy}/`],
  ['https://hub/x', { HTTP_PROXY: proxy }, undefined],
  ['http://hub/x', { HTTP_PROXY: proxy }, `${proxy}/`],
  ['https://hub/x', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://hub.co/x', { HTTPS_PROXY: proxy, NO_PROXY: 'a.b, hub.co' }, undefined],
  ['https://cdn.hub.co/x', { HTTPS_PROXY: proxy, no_proxy: '.hub.co' }, undefined],
  ['https://cdn.hub.co/x', { HTTPS_PROXY: proxy, NO_PROXY: 'hub.co:443' }, undefined],
  ['https://cdn.hub.co:8443/x', { HTTPS_PROXY: proxy, NO_PROXY: 'hub.co:443' }, `${proxy}/`],
  ['https://nothub.co/x', { HTTPS_PROXY: proxy, NO_PROXY: 'hub.co' }, `${proxy}/`],
  ['https://hub/x', {}, undefined],
] as const)('%s with %j goes through %s', (url, env, expected) =>
  expect(proxyFor(new URL(url), env)?.href).toBe(expected),
);

it('a proxy that is not one of HTTP is refused, without the password in its address', async () => {
  const asking = ask('https://hub/x', { signal, environment: { HTTPS_PROXY: 'socks5://me:secret@proxy:1080' } });
  const words = await wordsOf(asking);
  expect(words).toMatch(/bad_proxy: .*NO_PROXY/);
  expect(words).not.toContain('secret');
});

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((done) => server.listen(0, 'localhost', done));
  return (server.address() as AddressInfo).port;
};

it('a plain address is asked for through the proxy', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.url} ${request.headers.host} ${request.headers['proxy-authorization']}`);
    response.end('through');
  });
  const port = await listening(server);
  const environment = { HTTP_PROXY: `http://me:p%40ss@localhost:${port}` };
  const answer = await ask('http://hub.example/x?y=1', { signal, environment });
  expect(await text(answer)).toBe('through');
  expect(seen).toEqual([`http://hub.example/x?y=1 hub.example Basic ${Buffer.from('me:p@ss').toString('base64')}`]);
  server.close();
});

it('an encrypted connection goes through a tunnel, and a refused tunnel is told', async () => {
  expectFreshBuild('weights', 'http', 'proxy');
  const keys = { key: readFileSync(join(fixtures, 'proxy.key')), cert: readFileSync(join(fixtures, 'proxy.crt')) };
  const target = createTlsServer(keys, (request, response) => response.end(`secret ${request.headers.host}`));
  const targetPort = await listening(target);
  const tunnels: string[] = [];
  const server = createServer().on('connect', (request, socket) => {
    tunnels.push(`${request.url} ${request.headers['proxy-authorization']}`);
    if (request.headers['proxy-authorization'] === undefined) return socket.end('HTTP/1.1 407 No\r\n\r\n');
    const onward = connect(targetPort, 'localhost', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    // Whoever hangs up first cuts the other off in the middle of a farewell.
    for (const end of [socket, onward]) end.on('error', () => onward.destroy());
  });
  const port = await listening(server);
  const script = `
    import { ask } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../dist/weights/http.js')).href)};
    import { text } from 'node:stream/consumers';
    const signal = new AbortController().signal;
    for (const user of ['me:pass@', '']) {
      const environment = { HTTPS_PROXY: 'http://' + user + 'localhost:${port}' };
      await ask('https://localhost:${targetPort}/file', { signal, environment }).then(
        async (answer) => console.log(answer.statusCode, await text(answer)),
        (error) => console.log(error.message),
      );
    }`;
  // Node reads the certificates that it is to trust when it starts.
  const env = { PATH: process.env.PATH ?? '', NODE_EXTRA_CA_CERTS: join(fixtures, 'proxy.crt') };
  const { stdout } = await runToEnd([process.execPath, '--input-type=module', '-e', script], { env, timeoutS: 30 });
  const place = `localhost:${targetPort}`;
  expect(stdout.trim().split('\n')).toEqual([
    `200 secret ${place}`,
    `the proxy localhost:${port} answered 407 to a connection to ${place}`,
  ]);
  expect(tunnels).toEqual([`${place} Basic ${Buffer.from('me:pass').toString('base64')}`, `${place} undefined`]);
  for (const one of [target, server]) one.close();
});
