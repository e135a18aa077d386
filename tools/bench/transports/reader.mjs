// Reads one load through one transport, in a process of its own, and prints what that showed as JSON:
//   node reader.mjs '{"name":"fetch","url":"http://127.0.0.1:8100","streams":1000,"tokens":200,"model":"paced"}'
import { setTimeout as sleep } from 'node:timers/promises';
import { useServer } from '../server.mjs';
import { transports } from './table.mjs';
import { newTally } from './tally.mjs';

const { name, url, streams, tokens, model, folder } = JSON.parse(process.argv[2]);
const body = Buffer.from(
  JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'How long does each word of a long answer take to arrive?' }],
    max_completion_tokens: tokens,
    stream: true,
  }),
);

async function load(transport) {
  const tally = newTally(streams, tokens);
  const cpuBefore = process.cpuUsage();
  const send = async (_, stream) => {
    tally.sent(stream);
    await transport.send(body, (piece) => tally.bytes(stream, piece));
  };
  await Promise.all(Array.from({ length: streams }, send));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpuS: (user + system) / 1e6, ...tally.read() };
}

const server = useServer(url);
const opened = transports
  .find((transport) => transport.name === name)
  .open(`${url}/v1/chat/completions`, { streams, folder });
const transport = await opened;
// Once unmeasured: the code is compiled and the connections stand, as they do in the middle of a long load.
await load(transport);
await sleep(200);
await server.reset();
const measured = await load(transport);
const { ttft, itl, answered } = await server.stats();
transport.close();
process.stdout.write(`${JSON.stringify({ ...measured, server: { ttft, itl, answered } })}\n`);
process.exit();
