import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { listensOn } from '../../src/processes/listener.ts';
import { freePort } from '../../src/processes/ports.ts';
import { processEntry } from '../../src/processes/tree.ts';
import { eventually, lives } from './living.ts';

/** A program that listens on a port, in a session of its own. */
async function listener(port: number): Promise<{ pid: number; startTime: string }> {
  const script = `require('node:net').createServer().listen(${port}, '127.0.0.1')`;
  const child = spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' });
  const entry = await eventually(() => processEntry(child.pid as number));
  return { pid: entry.pid, startTime: entry.startTime };
}

describe.skipIf(process.platform !== 'linux')('who listens on a port', () => {
  it('is told from who should', async () => {
    const port = await freePort();
    const ours = await listener(port);
    await eventually(() => listensOn(ours, port) !== null);
    expect(listensOn(ours, port)).toBe(true);
    const foreignPort = await freePort();
    const foreign = createServer();
    await new Promise<void>((listening) => foreign.listen(foreignPort, '127.0.0.1', listening));
    expect(listensOn(ours, foreignPort)).toBe(false);
    foreign.close();
    process.kill(ours.pid, 'SIGKILL');
    await eventually(() => !lives(ours.pid));
    expect(listensOn(ours, port)).toBeNull();
  });
});
