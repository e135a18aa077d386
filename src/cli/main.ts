#!/usr/bin/env node
import { closest } from '../kit/closest.ts';
import { type ExitCode, exitCodes, InputError, Interrupted, ServetuneError } from '../kit/errors.ts';
import { invoked } from '../kit/invocation.ts';
import { parseArgv } from './argv.ts';
import type { CommandEntry } from './command.ts';
import { commandHelp, overview } from './help.ts';
import { commands } from './table.ts';
import { explain, openTerminal } from './terminal.ts';
import { version } from './version.ts';

/** The command that a line begins with, and the words after it. */
function findCommand(words: readonly string[]): { entry: CommandEntry; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const entry = commands.find((c) => c.name === words.slice(0, length).join(' '));
    if (entry) return { entry, rest: words.slice(length) };
  }
  const typed = words[0] as string;
  const within = commands.filter((c) => c.name.startsWith(`${typed} `));
  const meant =
    closest(
      words.slice(0, 2).join(' '),
      commands.map((c) => c.name),
    ) ??
    closest(
      typed,
      commands.map((c) => c.name),
    );
  throw new InputError([
    {
      place: words.slice(0, 2).join(' '),
      message: 'there is no such command',
      hint:
        within.length > 0
          ? `there is: ${within.map((c) => c.name).join(', ')}`
          : meant
            ? `did you mean ${invoked(meant)}?`
            : `${invoked('--help')} lists them`,
    },
  ]);
}

async function main(words: readonly string[]): Promise<ExitCode> {
  if (process.platform !== 'linux' && process.platform !== 'darwin') {
    throw new InputError([
      {
        place: process.platform,
        message: 'is not supported',
        hint: 'use Linux, or macOS for the embedded engine and bench',
      },
    ]);
  }
  const first = words[0];
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    process.stdout.write(`${overview(commands, version)}\n`);
    return first === undefined ? exitCodes.badInput : exitCodes.done;
  }
  if (first === '--version' || first === '-V' || first === 'version') {
    process.stdout.write(`${version}\n`);
    return exitCodes.done;
  }
  const typed = words.filter((w) => !w.startsWith('-')).join(' ');
  const group = commands.some((c) => c.name === typed) ? [] : commands.filter((c) => c.name.startsWith(`${typed} `));
  if (group.length > 0 && words.some((w) => w === '--help' || w === '-h')) {
    process.stdout.write(`${overview(group, version)}\n`);
    return exitCodes.done;
  }
  const { entry, rest } = findCommand(words);
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(`${commandHelp(command)}\n`);
    return exitCodes.done;
  }
  return command.run(parseArgv(command, rest, terminal.note), terminal);
}

const stop = new AbortController();
const terminal = openTerminal(stop.signal, processEnvironment());

function processEnvironment(): Readonly<Record<string, string>> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // The second time the user means it. The watchdogs end what runs.
    if (stop.signal.aborted) process.exit(exitCodes.interrupted);
    stop.abort(new Interrupted());
  });
}
// A reader that went away (`servetune ... | head`) is no fault, and must not end a measurement of hours.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
// npx and npm run die of a SIGTERM without passing it on; nobody would be left to stop what they had started.
if (process.env.npm_command !== undefined) {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new Interrupted());
  }, 500).unref();
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  terminal.status('');
  // Whatever an interruption broke on its way out, it is the interruption that happened.
  const shown = stop.signal.aborted && !(error instanceof InputError) ? stop.signal.reason : error;
  for (const line of explain(shown)) terminal.note(line);
  if (process.env.SERVETUNE_DEBUG && error instanceof Error) terminal.note(error.stack ?? '');
  process.exitCode = shown instanceof ServetuneError ? shown.exitCode : exitCodes.failed;
}
