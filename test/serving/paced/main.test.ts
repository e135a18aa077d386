import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { InputError } from '../../../src/kit/errors.ts';
import { pacedArguments } from '../../../src/serving/paced/arguments.ts';
import { pacedEntryPath } from '../../../src/serving/paced/server.ts';
import { eventsOf, send, until } from '../requests.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

beforeAll(() => {
  const source = join(import.meta.dirname, '../../../src/serving/paced');
  for (const file of readdirSync(source)) {
    const built = statSync(join(dirname(pacedEntryPath), file.replace(/ts$/, 'js'))).mtimeMs;
    expect(built, `${file} was built before it was changed; run: npm run build`).toBeGreaterThan(
      statSync(join(source, file)).mtimeMs,
    );
  }
});

function startEntry(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [pacedEntryPath, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  started.push(child);
  return child;
}

const firstLine = (stream: Readable): Promise<string> =>
  new Promise((resolve) => createInterface(stream).once('line', resolve));

const ended = (child: ChildProcess): Promise<{ code: number | null; signal: string | null }> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it('says its port in one line, serves, and ends on SIGTERM in the middle of an answer', async () => {
  const child = startEntry('--ttftS', '0.01', '--tokens', '3', '--role', 'true', '--itlS', '0.01');
  const { port } = JSON.parse(await firstLine(child.stdout as Readable));
  const url = `http://127.0.0.1:${port}`;
  const { text: answer } = await send(`${url}/v1/chat/completions`, { body: { messages: [] } });
  expect(eventsOf(answer)).toHaveLength(5);
  expect(JSON.parse((await send(`${url}/stats`)).text)).toMatchObject({ requests: { answered: 1 }, tokens: 3 });
  const exit = ended(child);
  child.kill('SIGTERM');
  expect(await exit).toEqual({ code: 0, signal: null });
});

it('ends when its standard input closes', async () => {
  const child = startEntry();
  await firstLine(child.stdout as Readable);
  const exit = ended(child);
  child.stdin?.end();
  expect(await exit).toEqual({ code: 0, signal: null });
});

it('ends when its parent is killed, though its standard input is nobody’s', async () => {
  const script = `
    const child = require('node:child_process').spawn(process.execPath, [process.argv[1]], { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', () => console.log(child.pid));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['-e', script, pacedEntryPath], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(parent);
  const pid = Number(await firstLine(parent.stdout as Readable));
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await until(() => !isAlive(pid));
});

it('names everything that is wrong with its arguments, and ends with 2', async () => {
  const child = startEntry('--ttftS', 'soon', '--colour', 'red', '--role', 'maybe', '--tokens');
  const [message, exit] = await Promise.all([text(child.stderr as Readable), ended(child)]);
  expect(exit).toEqual({ code: 2, signal: null });
  for (const place of ['--ttftS', '--colour', '--role', '--tokens']) expect(message).toContain(place);
});

it('reads arguments by the types of the options', () => {
  expect(pacedArguments(['--itlS', '0.02', '--role', 'true', '--model', '7', '--port', '0'])).toMatchObject({
    itlS: 0.02,
    role: true,
    model: '7',
    port: 0,
    ttftS: 0,
  });
  expect(() => pacedArguments(['--tokens', '1.5'])).toThrow(InputError);
  expect(() => pacedArguments(['tokens', '1'])).toThrow(InputError);
});
