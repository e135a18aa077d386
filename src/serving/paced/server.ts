import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../../kit/errors.ts';
import { serveConnection } from './connection.ts';
import { eventsOf } from './events.ts';
import { pacedOptions } from './options.ts';
import { newPacer } from './pacer.ts';
import { newTallies, type PacedStats } from './tallies.ts';
import { watchTurns } from './turns.ts';

/**
 * The program that runs a paced server in a process of its own: `node PATH --ttftS 0.2 --itlS 0.02`. Always the
 * compiled one, whether this module runs from `src/` (in tests) or from `dist/`: Node cannot run TypeScript.
 */
export const pacedEntryPath = fileURLToPath(new URL('../../../dist/serving/paced/main.js', import.meta.url));

export interface PacedServer {
  readonly port: number;
  /** What it saw of itself since it started or was reset. `cpuS` is that of the whole process. */
  stats(): PacedStats;
  reset(): void;
  /** Cuts every connection. */
  close(): Promise<void>;
}

/** Many clients connect in the same moment; the system lowers this to its own limit. */
const backlog = 16_384;

/**
 * Starts an OpenAI-shaped server in this process whose answers have a known timing: event k of an answer leaves
 * `ttftS` + k * `itlS` seconds after the last byte of its request, by an absolute schedule; with both 0 as fast as it
 * can. It keeps count of how late it really was, so that a client that is measured against it is not blamed for it.
 *
 * It serves `POST /v1/completions` and `/v1/chat/completions` (always streamed), `GET /v1/models`, `/health` and
 * `/stats`, and `POST /reset`; requests have a content-length, and the next one waits for the end of the answer.
 * Throws a ServetuneError `port_in_use` or `cannot_listen`, exit code 2; a ZodError when the options are wrong.
 */
export async function startPaced(given: z.input<typeof pacedOptions>): Promise<PacedServer> {
  const options = pacedOptions.parse(given);
  const { host, model, role, tokensPerEvent } = options;
  const tallies = newTallies();
  const turns = watchTurns();
  const eventsPerWrite = options.itlS === 0 ? options.eventsPerWrite : 1;
  const pacer = newPacer({ ttftMs: options.ttftS * 1000, itlMs: options.itlS * 1000, eventsPerWrite }, tallies, turns);
  const dialect = (chat: boolean) => eventsOf({ chat, model, role, tokensPerEvent, eventsPerWrite });
  const serving = { options, tallies, turns, pacer, events: { text: dialect(false), chat: dialect(true) } };
  const sockets = new Set<Socket>();

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serveConnection(socket, serving);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, host, options.port)));
    server.listen({ host, port: options.port, backlog }, resolve);
  });
  // Descriptors may run out while it serves: clients see that, and it goes on.
  server.on('error', () => {});

  return {
    port: (server.address() as AddressInfo).port,
    stats: () => tallies.read(),
    reset: () => tallies.reset(),
    close() {
      pacer.stop();
      return new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}

function listenError(error: Error, host: string, port: number): ServetuneError {
  const inUse = systemCode(error) === 'EADDRINUSE';
  return new ServetuneError(
    inUse ? 'port_in_use' : 'cannot_listen',
    inUse ? `port ${port} on ${host} is in use` : `cannot listen on ${host}, port ${port}: ${messageOf(error)}`,
    {
      hint: inUse
        ? 'stop the program that listens there, or take port 0 for a free one'
        : 'give an address of this machine, and a port from 1024 to 65535 or 0',
      exitCode: exitCodes.badInput,
      cause: error,
    },
  );
}
