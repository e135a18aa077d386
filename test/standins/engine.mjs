// An engine that is none: replays what was recorded of a real one, from its start to its end, and misbehaves on demand.
// README.md says how it is told what to do. Plain JavaScript with nothing of the project in it.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kinds } from './kinds.mjs';
import { serverOf } from './server.mjs';

/** How a stand-in was told to behave: what holds for all starts, and for those whose command line has certain words. */
function behaviourOf(name, argv) {
  const { all = {}, when = [] } = JSON.parse(process.env.STAND_IN ?? '{}');
  const line = ` ${[name, ...argv].join(' ')} `;
  return Object.assign({}, all, ...when.filter(({ has }) => line.includes(` ${has} `)).map(({ does }) => does));
}

const say = (text) => process.stderr.write(`${text}\n`);

export async function runEngine(name, argv) {
  const behaviour = behaviourOf(name, argv);
  const kind = kinds[name]();
  if (behaviour.version) kind.version = behaviour.version;
  const removed = behaviour.removedFlags ?? [];
  if (argv.some((word) => word === '--version')) return console.log(kind.version);
  if (argv.some((word) => /^(-h|--help(=.*)?)$/.test(word))) return console.log(helpWithout(kind.help, removed));
  const unknown = unknownFlags(argv, kind, removed);
  if (unknown.length > 0) {
    say(`usage: ${kind.program} [options]`);
    say(`${kind.program}: error: unrecognized arguments: ${unknown.join(' ')}`);
    process.exit(2);
  }
  journal(behaviour);
  await live(kind, behaviour, argv);
}

/** A help text as a release prints it that does not have some flags: their lines and what describes them are not there. */
function helpWithout(help, removed) {
  let isGone = false;
  return help
    .split('\n')
    .filter((line) => {
      if (/^ {2}-/.test(line)) isGone = removed.some((flag) => new RegExp(`${flag}(?![\\w-])`).test(line));
      else if (!line.startsWith('   ')) isGone = false;
      return !isGone;
    })
    .join('\n');
}

/** As argparse: flags that the help does not name. */
function unknownFlags(argv, kind, removed) {
  const flags = argv.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]);
  const isKnown = (flag) => !kind.checksFlags || new RegExp(`${flag}(?![\\w-])`).test(kind.help);
  return flags.filter((flag) => removed.includes(flag) || !isKnown(flag));
}

/** Writes down that it was started, and which stand-ins that were started before it still live. */
function journal({ journalPath }) {
  if (!journalPath) return;
  const before = existsSync(journalPath) ? readFileSync(journalPath, 'utf8').trim().split('\n') : [];
  const alive = before.map((line) => JSON.parse(line).pid).filter(isAlive);
  appendFileSync(journalPath, `${JSON.stringify({ pid: process.pid, alive })}\n`);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function live(kind, behaviour, argv) {
  const { startS = 0.4, fails, stallsAt, worksAt, sigterm = 0, lateS = 0.3, bind = 'ready' } = behaviour;
  let isLoading = true;
  process.on('SIGTERM', () => {
    if (sigterm === 'ignored' || (sigterm === 'ignored while loading' && isLoading)) return say('ignoring SIGTERM');
    process.exit(sigterm === 'ignored while loading' ? 0 : sigterm);
  });
  startWorkers(behaviour);
  if (behaviour.daemonS !== undefined) setTimeout(startDaemon, behaviour.daemonS * 1000);

  const option = (...flags) => flags.map((flag) => argv[argv.indexOf(flag) + 1 || argv.length]).find(Boolean);
  const positional = argv.find((word, i) => !word.startsWith('-') && !(argv[i - 1] ?? '').startsWith('-'));
  const model = option('--served-model-name') ?? option(...kind.modelFlags) ?? positional ?? 'model';
  const port = Number(option('--port'));
  const server = serverOf(kind, behaviour, { model, say, die: () => die(behaviour) });
  const listen = () =>
    server.listen(port, option('--host') ?? '127.0.0.1').catch((error) => {
      say(`[Errno 98] error while attempting to bind on address ('127.0.0.1', ${port}): address already in use`);
      process.exit(error.code === 'EADDRINUSE' ? 1 : 3);
    });
  if (behaviour.portTakenOnce && !existsSync(behaviour.portTakenOnce)) {
    writeFileSync(behaviour.portTakenOnce, '');
    say('OSError: [Errno 98] Address already in use');
    process.exit(1);
  }
  if (bind === 'early') await listen();

  const recorded = fails ? kind.failLog(fails) : startOf(kind);
  const scale = startS / Math.max(0.001, recorded.at(-1)?.atS ?? 1);
  const beganMs = performance.now();
  for (const { atS, text } of recorded) {
    const dueMs = beganMs + atS * scale * 1000;
    if (dueMs - performance.now() > 1) await sleep(dueMs - performance.now());
    say(text);
    if (stallsAt && text.includes(stallsAt)) await new Promise(() => setInterval(() => {}, 1e6));
    if (worksAt && text.includes(worksAt.line)) compute(worksAt.s);
  }
  for (const line of behaviour.lines ?? []) say(line);
  if (fails || behaviour.exits !== undefined) process.exit(behaviour.exits ?? 1);

  if (bind === 'late') await sleep(lateS * 1000);
  if (bind !== 'early') await listen();
  server.ready();
  isLoading = false;
}

/** The recorded start up to the line that says it is ready. */
function startOf({ startLog, readyLine }) {
  const end = startLog.findLastIndex(({ text }) => readyLine.test(text));
  return startLog.slice(0, end + 1);
}

/** Uses the CPU and prints nothing. */
function compute(s) {
  const endsAt = performance.now() + s * 1000;
  for (let x = 0; performance.now() < endsAt; x++) Math.sqrt(x);
}

function startWorkers({ workers = 0, workersAre = 'loyal', workersIn = 'group' }) {
  for (let i = 0; i < workers; i++) {
    const stdio = workersAre === 'left' ? 'ignore' : ['ignore', 'inherit', 'inherit', 'ipc'];
    const args = [join(import.meta.dirname, 'worker.mjs'), workersAre];
    const worker = spawn(process.execPath, args, { detached: workersIn === 'session', stdio });
    worker.unref();
    worker.channel?.unref();
    say(`worker pid=${worker.pid}`);
  }
}

/** A process that has left its parents, its session and its outputs as soon as it runs: what looks now and then misses it. */
function startDaemon() {
  const inner = '(exec setsid sleep 300 </dev/null >/dev/null 2>&1 &); exit 0';
  spawn('setsid', ['sh', '-c', inner], { stdio: 'ignore' });
}

/** Ends as a crash does: without a word to whoever is waiting, and without its workers. */
function die({ lastWords = 'Fatal Python error: Segmentation fault', diesWith = 1 }) {
  say(lastWords);
  if (diesWith === 'SIGKILL') process.kill(process.pid, 'SIGKILL');
  process.exit(diesWith);
}
