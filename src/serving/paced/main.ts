/**
 * A paced server in a process of its own, so that it shares neither thread nor clock of the client that is measured:
 * `--key value` for each option of `pacedOptions`. Prints `{"port":N}` when it listens. Ends on SIGTERM and SIGINT, when
 * its standard input closes, and when its parent is gone, whichever comes first.
 */
import { fstatSync } from 'node:fs';
import process, { argv, stderr, stdin, stdout } from 'node:process';
import { exitCodes, messageOf, ServetuneError } from '../../kit/errors.ts';
import { pacedArguments } from './arguments.ts';
import { startPaced } from './server.ts';
import { warmUp } from './warm-up.ts';

/** A parent that dies by SIGKILL may leave the pipe open in another child. */
const parentLookEveryS = 0.5;

async function main(): Promise<void> {
  const parent = process.ppid;
  const options = pacedArguments(argv.slice(2));
  await warmUp();
  const server = await startPaced(options);
  const parentWatch = setInterval(() => {
    if (process.ppid !== parent) end();
  }, parentLookEveryS * 1000);

  // What stays open keeps the process alive; once all is closed it ends by itself.
  const end = (): void => {
    clearInterval(parentWatch);
    stdin.destroy();
    void server.close();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  if (hasOwner()) stdin.on('close', end).on('error', end).resume();
  // Nobody reads any more.
  stdout.on('error', end);
  stdout.write(`${JSON.stringify({ port: server.port })}\n`);
}

/** Whether standard input is held open by somebody: /dev/null and files are at their end from the start. */
function hasOwner(): boolean {
  const input = fstatSync(0);
  return input.isFIFO() || input.isSocket() || stdin.isTTY;
}

main().catch((error: unknown) => {
  const hint = error instanceof ServetuneError && error.hint !== undefined ? `\n${error.hint}` : '';
  stderr.write(`${messageOf(error)}${hint}\n`);
  process.exitCode = error instanceof ServetuneError ? error.exitCode : exitCodes.failed;
});
