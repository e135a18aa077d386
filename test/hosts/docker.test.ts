import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines } from '../../src/engines/table.ts';
import { containerIn, docker, endContainerIn, fetchImage, imageIn } from '../../src/hosts/docker.ts';
import type { HostedCommand, Place } from '../../src/hosts/host.ts';
import { listensOn } from '../../src/processes/listener.ts';
import { freePort } from '../../src/processes/ports.ts';
import { runToEnd } from '../../src/processes/run.ts';
import { type Supervised, supervise } from '../../src/processes/supervisor.ts';
import { type ProcessEntry, processEntry } from '../../src/processes/tree.ts';
import { expectFreshBuild } from '../built.ts';
import { eventually, fixture, lives } from '../processes/living.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/hosts');
const dir = mkdtempSync(join(tmpdir(), 'servetune-docker-test-'));
const socket = join(dir, 'docker.sock');
const record = join(dir, 'calls.jsonl');
const hfHome = join(dir, 'hf');
const image = 'stand-in/engine:1';
const env = {
  PATH: `${fixtures}:${process.env.PATH ?? ''}`,
  HOME: join(dir, 'home'),
  HF_HOME: hfHome,
  DOCKER_HOST: `unix://${socket}`,
  DOCKER_STANDIN_RECORD: record,
};
const { signal } = new AbortController();
let daemon: ChildProcess;
let owner: ChildProcess | undefined;
let said = '';

interface Event {
  readonly event: string;
  readonly id: string;
  readonly pid?: number;
  readonly signal?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: { readonly User: string; readonly Env: readonly string[]; readonly WorkingDir: string };
}
const events = (): readonly Event[] => said.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Event); // biome-ignore format: short
const eventsOf = (id: string | undefined): readonly string[] => events().flatMap((e) => (e.id === id ? e.event : []));
const pidOf = (id: string | undefined): number => events().find((e) => e.id === id && e.event === 'started')?.pid ?? 0;

let places = 0;
function placeHere(more: Partial<Place> = {}): Place & { readonly dir: string } {
  const folder = join(dir, `trial ${++places}`);
  mkdirSync(folder);
  return { engine: 'vllm', image, dir: folder, ...more } as Place & { readonly dir: string };
}

/** The engine in a container, as a study starts it, once its container runs. */
async function started(
  argv: readonly string[],
  place = placeHere(),
  more: Readonly<Record<string, string>> = {},
): Promise<{ hosted: HostedCommand; engine: Supervised; id: string; dir: string }> {
  const hosted = docker.wrap({ argv, env: { ...env, ...more } }, place);
  const before = events().length;
  const logPath = join(place.dir, 'engine.log');
  const engine = await supervise({ argv: hosted.argv, env: hosted.env, cwd: place.dir, logPath });
  const { id } = await eventually(() =>
    events()
      .slice(before)
      .find(({ event }) => event === 'started'),
  );
  return { hosted, engine, id, dir: place.dir };
}

/** The client that is at work for a container. */
const clientOf = (folder: string): number => {
  const calls = readFileSync(record, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as { pid: number; argv: string[] }); // biome-ignore format: one call
  return calls.find(({ argv }) => argv[0] === 'run' && argv.includes(join(folder, 'container.id')))?.pid ?? 0;
};

beforeAll(async () => {
  expectFreshBuild('processes', 'watchdog', 'family', 'ending', 'tree', 'messages', 'supervisor', 'run', 'watched');
  expectFreshBuild('hosts', 'docker');
  const images = { [image]: { Id: 'sha256:0001', RepoDigests: ['stand-in/engine@sha256:abcd'] }, built: { Id: 'sha256:0002', RepoDigests: [] } }; // biome-ignore format: one object
  daemon = spawn(process.execPath, [join(fixtures, 'dockerd.mjs'), socket, JSON.stringify(images)]);
  daemon.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  daemon.stderr?.pipe(process.stderr);
  await eventually(() => said.includes('ready'));
});
afterAll(() => {
  owner?.kill('SIGKILL');
  daemon.kill();
  rmSync(dir, { recursive: true });
});

describe('a container', () => {
  it('gives its output and its exit code, and is gone', async () => {
    const { engine, id, dir: folder, hosted } = await started([...fixture('flood.mjs', '200000')]);
    expect(await engine.exited).toEqual({ code: 3, signal: null });
    expect(engine.logTail(1)).toEqual(['ERROR the end']);
    await engine.stop();
    await hosted.release?.();
    expect(eventsOf(id)).toEqual(['created', 'started', 'exited', 'removed']);
    expect(containerIn(folder)).toBeUndefined();
  });

  it('sees what the engine reads of the environment, and nothing else of the shell', async () => {
    const place = placeHere();
    const more = { HF_TOKEN: 'hf_planted', VLLM_USE_V1: '1', https_proxy: 'http://p:1', AWS_SECRET_ACCESS_KEY: 'planted', CUDA_HOME: '/usr/local/cuda' }; // biome-ignore format: one object
    const { engine, id } = await started([...fixture('print.mjs')], place, more);
    await engine.exited;
    const { PATH: _, ...seen } = events().find((e) => e.id === id && e.event === 'started')?.env ?? {};
    expect(seen).toMatchObject({
      HF_TOKEN: 'hf_planted',
      VLLM_USE_V1: '1',
      https_proxy: 'http://p:1',
      HF_HOME: hfHome,
    });
    expect(Object.keys(seen).sort()).toEqual(
      [
        'HF_HOME',
        'HF_TOKEN',
        'HOME',
        'LOGNAME',
        'TORCHINDUCTOR_CACHE_DIR',
        'USER',
        'VLLM_USE_V1',
        'https_proxy',
      ].sort(),
    );
    expect(events().find((e) => e.id === id)?.config).toMatchObject({ WorkingDir: place.dir });
    expect(readFileSync(record, 'utf8')).not.toContain('planted');
    expect(readFileSync(join(place.dir, 'engine.log'), 'utf8')).not.toContain('AWS_SECRET');
  });

  it('gets every variable that an engine’s settings are said with', async () => {
    const names = engines.flatMap(({ mapping, measuring }) => [
      ...Object.values(mapping ?? {}).flatMap((ways) => [ways].flat().flatMap((way) => ('env' in way ? way.env : []))),
      ...Object.keys(measuring?.({ model: 'm', port: 1, settings: {} }).env ?? {}),
    ]);
    const set = Object.fromEntries([...names, 'VLLM_ATTENTION_BACKEND'].map((name) => [name, '1']));
    const { argv } = docker.wrap({ argv: ['vllm'], env: { ...env, ...set } }, placeHere());
    const passed = argv.filter((_, i) => argv[i - 1] === '--env');
    expect(Object.keys(set).filter((name) => !passed.includes(name))).toEqual([]);
  });

  it('tells its first process, whose family listens on its ports', async () => {
    const port = await freePort();
    const listen = `require('http').createServer().listen(${port}, '127.0.0.1', () => console.log('listens'))`;
    const { engine, hosted, id } = await started([process.execPath, '-e', listen]);
    await eventually(() => engine.logTail(1)[0] === 'listens');
    const pid = (await hosted.firstProcess?.()) ?? 0;
    expect(pid).toBe(pidOf(id));
    // The client is no ancestor of it.
    expect(listensOn(engine, port)).toBe(false);
    expect(listensOn(processEntry(pid) as ProcessEntry, port)).toBe(true);
    await engine.stop();
    expect(await hosted.firstProcess?.()).toBeUndefined();
    await hosted.release?.();
  });

  it('tells in its folder which image it was made of', async () => {
    const { engine, dir: folder } = await started(['true']);
    await engine.exited;
    expect(imageIn(folder)).toBe('stand-in/engine@sha256:abcd');
    const own = await started(['true'], placeHere({ image: 'built' }));
    await own.engine.exited;
    expect(imageIn(own.dir)).toBe('sha256:0002');
    expect(imageIn(dir)).toBeUndefined();
  });

  it('says what to do when the image is not on this machine, and starts nothing', async () => {
    const place = placeHere({ image: 'vllm/vllm-openai:v9' });
    const hosted = docker.wrap({ argv: ['vllm'], env }, place);
    await using engine = await supervise({ argv: hosted.argv, env, logPath: join(place.dir, 'engine.log') });
    expect(await engine.exited).toEqual({ code: 125, signal: null });
    expect(engine.logTail(5).join('\n')).toContain('docker pull vllm/vllm-openai:v9');
    expect(imageIn(place.dir)).toBeUndefined();
  });

  it('answers a question without a folder, and leaves none', async () => {
    const hosted = docker.wrap({ argv: ['sh', '-c', 'echo 0.11.0'], env }, { engine: 'vllm', image });
    const folder = hosted.argv[hosted.argv.indexOf('--workdir') + 1] ?? '';
    const result = await runToEnd(hosted.argv, { env: hosted.env, timeoutS: 30 });
    expect(result).toMatchObject({ code: 0, stdout: '0.11.0\n', stderr: '' });
    expect(existsSync(folder)).toBe(true);
    await hosted.release?.();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('the end of a container', () => {
  it('is gentle first: SIGTERM reaches the engine once, and its exit code comes back', async () => {
    const polite = 'trap "echo bye; exit 4" TERM; echo ready; while :; do sleep 0.05; done';
    const { engine, id, hosted } = await started(['sh', '-c', polite]);
    await eventually(() => engine.logTail(1)[0] === 'ready');
    const stopped = await engine.stop(10);
    await hosted.release?.();
    expect(stopped).toMatchObject({ exit: { code: 4, signal: null }, forced: false, survivors: [] });
    expect(engine.logTail(1)).toEqual(['bye']);
    expect(events().filter((e) => e.id === id && e.event === 'signal')).toMatchObject([{ signal: 'SIGTERM' }]);
    expect(eventsOf(id).at(-1)).toBe('removed');
  });

  it('has the whole grace, then is forced by the release', async () => {
    const { engine, id, hosted, dir: folder } = await started([...fixture('stubborn.mjs')]);
    await eventually(() => engine.logTail(1).length > 0);
    expect(containerIn(folder)).toBe(id);
    const stopped = await engine.stop(2.5);
    expect(stopped.forced).toBe(true);
    expect(lives(pidOf(id))).toBe(true); // the client and all that descends from it are gone, the container is not
    await hosted.release?.();
    expect(lives(pidOf(id))).toBe(false);
    expect(eventsOf(id).at(-1)).toBe('removed');
    expect(containerIn(folder)).toBeUndefined();
    await hosted.release?.(); // nothing left to do
  });

  it('follows when only the client is killed', async () => {
    const { engine, id, dir: folder } = await started([...fixture('stubborn.mjs')]);
    await eventually(() => engine.logTail(1).length > 0);
    process.kill(clientOf(folder), 'SIGKILL');
    expect(await engine.exited).toEqual({ code: 137, signal: null });
    expect(lives(pidOf(id))).toBe(false);
    expect(eventsOf(id).at(-1)).toBe('removed');
  });

  it('comes with the release when all that was started here was killed', async () => {
    const { engine, id, hosted, dir: folder } = await started([...fixture('stubborn.mjs')]);
    await eventually(() => engine.logTail(1).length > 0);
    const client = clientOf(folder);
    process.kill(-engine.pid, 'SIGKILL');
    expect(await engine.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await engine.stop();
    expect(lives(client)).toBe(false);
    expect(lives(pidOf(id))).toBe(true);
    await hosted.release?.();
    expect(lives(pidOf(id))).toBe(false);
    expect(eventsOf(id).at(-1)).toBe('removed');
  });

  it.runIf(process.platform === 'linux')('comes within 5 s of a kill -9 of servetune, though the engine ignores SIGTERM', async () => {
    const { dir: folder } = placeHere();
    const argv = [join(fixtures, 'owner.mjs'), folder, ...fixture('stubborn.mjs')];
    owner = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = new Promise((done) => owner?.once('exit', done));
    const id = await eventually(() => containerIn(folder));
    await eventually(() => readFileSync(join(folder, 'engine.log'), 'utf8').includes('pids'));
    const pid = pidOf(id);
    expect(lives(pid)).toBe(true);
    owner.kill('SIGKILL');
    await eventually(() => !lives(pid), 5);
    await eventually(() => eventsOf(id).at(-1) === 'removed', 5);
    await exited;
  }); // biome-ignore format: one name

  it('of what an earlier servetune left behind comes before the next start, or when it is asked for', async () => {
    const first = await started([...fixture('stubborn.mjs')]);
    await eventually(() => first.engine.logTail(1).length > 0);
    process.kill(-first.engine.pid, 'SIGKILL');
    await first.engine.stop();
    expect(lives(pidOf(first.id))).toBe(true);

    const place = { engine: 'vllm', image, dir: first.dir };
    const second = await started([...fixture('stubborn.mjs')], place);
    expect(lives(pidOf(first.id))).toBe(false);
    await eventually(() => second.engine.logTail(1).length > 0);
    process.kill(-second.engine.pid, 'SIGKILL');
    await second.engine.stop();
    expect(containerIn(first.dir)).toBe(second.id);
    expect(await endContainerIn(first.dir, env)).toBe(true);
    expect(lives(pidOf(second.id))).toBe(false);
    expect(await endContainerIn(first.dir, env)).toBe(false);
  });

  it('that cannot be had is told, with the container’s number', async () => {
    const { dir: folder } = placeHere();
    writeFileSync(join(folder, 'container.id'), 'abcd');
    const unreachable = { ...env, DOCKER_HOST: `unix://${join(dir, 'none.sock')}` };
    await expect(endContainerIn(folder, unreachable)).rejects.toMatchObject({
      code: 'container_survived',
      hint: expect.stringContaining('docker rm --force abcd'),
    });
    expect(containerIn(folder)).toBe('abcd'); // still to be ended
    expect(await endContainerIn(folder, env)).toBe(true); // there is none of that number any more
  });
});

describe('fetching an image', () => {
  const pulls = (): number =>
    readFileSync(record, 'utf8')
      .split('\n')
      .filter((line) => line.includes('["pull"')).length;

  it('happens once', async () => {
    const before = pulls();
    await fetchImage('stand-in/pullable:2', env, signal);
    await fetchImage('stand-in/pullable:2', env, signal);
    expect(pulls() - before).toBe(1);
  });

  it('tells what Docker said', async () => {
    await expect(fetchImage('private/engine:1', env, signal)).rejects.toMatchObject({
      code: 'image_not_fetched',
      message: expect.stringContaining('pull access denied'),
    });
  });
});
