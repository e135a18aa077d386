// The server that the clients meet: one that is started here, or one that runs already.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../../dist/serving/paced/main.js', import.meta.url));
const settleS = 10;
const lookEveryMs = 5;

/** Starts the paced server in a process of its own; resolves when it listens. `stop` ends it. */
export async function startServer({ tokens, ttftMs, itlMs, eventsPerWrite }) {
  const options = { tokens, ttftS: ttftMs / 1000, itlS: itlMs / 1000, eventsPerWrite };
  const args = Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]);
  const child = spawn(process.execPath, [entry, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const line = once(createInterface(child.stdout), 'line').then(([text]) => text);
  const said = await Promise.race([line, ended.then(() => undefined)]);
  if (said === undefined) throw new Error(`the paced server did not start: node ${entry} ${args.join(' ')}`);
  return {
    ...useServer(`http://127.0.0.1:${JSON.parse(said).port}`),
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/** A server that runs already, at a URL without a slash at its end. */
export function useServer(url) {
  const ask = async (path, method = 'GET') => {
    const response = await fetch(`${url}${path}`, { method, headers: { connection: 'close' } }).catch((error) => {
      throw new Error(`${url}${path} does not answer: ${error.cause?.message ?? error.message}`);
    });
    if (!response.ok) throw new Error(`${method} ${url}${path} says ${response.status}`);
    return response;
  };
  const stats = async () => readStats(await (await ask('/stats')).json());

  return {
    url,
    stats,
    model: async () => (await (await ask('/v1/models')).json()).data[0].id,
    /** Waits for what an earlier client left under way, and begins the counts anew; returns where they stand. */
    async reset() {
      let before = await stats();
      for (let leftS = settleS; before.active > 0 && leftS > 0; leftS -= 0.1) {
        await sleep(100);
        before = await stats();
      }
      if (before.active > 0) throw new Error(`${url} still answers ${before.active} requests after ${settleS} s`);
      await (await ask('/reset', before.resetMethod)).arrayBuffer();
      return stats();
    },
    /** Resolves with true as soon as a request has come since the reset, with false when the signal aborts. */
    async firstRequest(signal) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        while (!signal.aborted) {
          const { active, answered } = readStats(JSON.parse(await getText(`${url}/stats`, agent)));
          if (active + answered > 0) return true;
          await sleep(lookEveryMs);
        }
        return false;
      } finally {
        agent.destroy();
      }
    },
    stop: async () => {},
  };
}

/** Over a connection that stays, and without the weight of `fetch`: it is asked often, beside the client's start. */
function getText(url, agent) {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });
}

/**
 * `GET /stats`, durations in seconds. Two spellings are known: that of the paced server here (`ttftUs`), and one with
 * underscores (`ttft_us`), whose servers reset themselves by GET and keep their CPU time over it.
 */
function readStats(raw) {
  const camel = raw.ttftUs !== undefined;
  const inSeconds = (sample) =>
    sample && { meanS: seconds(sample.mean), p50S: seconds(sample.p50), p99S: seconds(sample.p99) };
  const named = (camelName, name) => (camel ? raw[camelName] : raw[name]);
  return {
    answered: camel ? raw.requests.answered : raw.served,
    active: camel ? raw.requests.active : raw.active,
    /** One an event. */
    chunks: camel ? raw.events : raw.tokens,
    ttft: inSeconds(named('ttftUs', 'ttft_us')),
    itl: inSeconds(named('gapUs', 'gap_us')),
    lateness: inSeconds(named('latenessUs', 'lateness_us')),
    cpuS: named('cpuS', 'cpu_s'),
    resetMethod: camel ? 'POST' : 'GET',
  };
}

const seconds = (us) => (us === null || us === undefined ? null : us / 1e6);
