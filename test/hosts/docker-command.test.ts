import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { docker } from '../../src/hosts/docker.ts';
import type { Place } from '../../src/hosts/host.ts';
import type { InputError } from '../../src/kit/errors.ts';
import { hostContract } from '../contracts/host.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/hosts');
const dir = mkdtempSync(join(tmpdir(), 'servetune-docker-command-'));
const hfHome = join(dir, 'hf');
const image = 'stand-in/engine:1';
const env = { PATH: `${fixtures}:${process.env.PATH ?? ''}`, HOME: join(dir, 'home'), HF_HOME: hfHome };
afterAll(() => rmSync(dir, { recursive: true }));

let places = 0;
function placeHere(more: Partial<Place> = {}): Place & { readonly dir: string } {
  const folder = join(dir, `trial ${++places}`);
  mkdirSync(folder);
  return { engine: 'vllm', image, dir: folder, ...more } as Place & { readonly dir: string };
}

hostContract(docker, env, { engine: 'vllm', image, dir });

describe('the command', () => {
  it('says all that an engine in a container needs', () => {
    const place = placeHere({ gpus: ['GPU-1', 'GPU-2'] });
    const { argv } = docker.wrap({ argv: ['vllm', 'serve', 'Qwen/Qwen3-14B', '--port', '8000'], env }, place);
    const home = join(dir, 'home', '.cache', 'servetune', 'docker', 'stand-in_engine_1');
    const run = argv.slice(argv.indexOf('run'));
    expect(run.filter((_, i) => run[i - 1] !== '--group-add' && run[i] !== '--group-add')).toEqual([
      ...['run', '--rm', '--init', '--pull', 'never', '--cidfile', join(place.dir, 'container.id')],
      ...['--label', `servetune=${place.dir}`, '--gpus', '"device=GPU-1,GPU-2"', '--ipc', 'host', '--network', 'host'],
      ...[
        '--ulimit',
        'stack=67108864',
        '--ulimit',
        'memlock=-1',
        '--user',
        `${process.getuid?.()}:${process.getgid?.()}`,
      ],
      ...[hfHome, home, place.dir].flatMap((path) => ['--mount', `type=bind,source=${path},target=${path}`]),
      ...['--workdir', place.dir, '--env', `HOME=${home}`, '--env', 'USER=servetune', '--env', 'LOGNAME=servetune'],
      ...['--env', `HF_HOME=${hfHome}`, '--env', `TORCHINDUCTOR_CACHE_DIR=${join(home, '.cache', 'torchinductor')}`],
      ...['--entrypoint', 'vllm', image, 'serve', 'Qwen/Qwen3-14B', '--port', '8000'],
    ]);
    expect(existsSync(home) && existsSync(hfHome)).toBe(true); // else Docker would make them, as root
  });

  const gpus = (more: Readonly<Record<string, string>>, place: Partial<Place> = {}): string | undefined => {
    const { argv } = docker.wrap({ argv: ['vllm'], env: { ...env, ...more } }, placeHere(place));
    return argv.includes('--gpus') ? argv[argv.indexOf('--gpus') + 1] : undefined;
  };

  it('takes all GPUs, or those that CUDA_VISIBLE_DEVICES names, or none', () => {
    expect(gpus({})).toBe('all');
    expect(gpus({ CUDA_VISIBLE_DEVICES: '1,3' })).toBe('"device=1,3"');
    expect(gpus({ CUDA_VISIBLE_DEVICES: '' })).toBeUndefined();
    expect(gpus({ CUDA_VISIBLE_DEVICES: '0' }, { gpus: [] })).toBeUndefined();
  });

  const mountsFor = (argv: readonly string[], more: Readonly<Record<string, string>> = {}): readonly string[] =>
    docker
      .wrap({ argv: ['vllm', ...argv], env: { ...env, ...more } }, placeHere())
      .argv.flatMap((word, i, all) => (all[i - 1] === '--mount' ? (word.split(',target=')[0] ?? '') : []))
      .map((mount) => mount.replace('type=bind,source=', ''))
      .slice(3);

  it('shares the files of this machine that the command names, wherever in an argument', () => {
    const [model, draft, other] = ['model', 'draft', 'other'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [model, draft]) mkdirSync(path);
    writeFileSync(other, '');
    const spec = JSON.stringify({ method: 'eagle', model: draft });
    expect(mountsFor(['serve', model, `--chat-template=${other}`, '--speculative-config', spec])).toEqual([model, other, draft]); // biome-ignore format: one call
    expect(mountsFor(['serve', join(dir, 'no-such')])).toEqual([]);
  });

  it('shares the whole of a cached model, since its snapshots are links, and nothing twice', () => {
    const model = join(dir, 'hub', 'models--Qwen--Qwen3-14B');
    const snapshot = join(model, 'snapshots', '0a1b');
    mkdirSync(snapshot, { recursive: true });
    expect(mountsFor([snapshot])).toEqual([model]);
    mkdirSync(join(hfHome, 'hub', 'models--x', 'snapshots', '1'), { recursive: true });
    expect(mountsFor([join(hfHome, 'hub', 'models--x', 'snapshots', '1')])).toEqual([]);
  });

  it('never lays this machine’s system over the image’s', () => {
    expect(mountsFor(['/usr/bin', '/etc/hosts', '/tmp', '/', '--log=/dev/null', '/lib/'])).toEqual([]);
  });

  it('makes and shares the caches that the environment names', () => {
    const hub = join(dir, 'big-disk', 'hub');
    mkdirSync(join(dir, 'big-disk'));
    const { argv } = docker.wrap({ argv: ['vllm'], env: { ...env, HF_HUB_CACHE: hub } }, placeHere());
    expect(argv).toContain(`type=bind,source=${hub},target=${hub}`);
    expect(existsSync(hub)).toBe(true);
  });

  it('quotes a path with a comma', () => {
    const model = join(dir, 'a,"b');
    mkdirSync(model);
    const { argv } = docker.wrap({ argv: ['vllm', model], env }, placeHere());
    const quoted = model.replace('"', '""');
    expect(argv).toContain(`type=bind,"source=${quoted}","target=${quoted}"`);
  });

  it('is root inside where Docker is rootless, which is the user outside', () => {
    for (const more of [{ DOCKER_HOST: 'unix:///run/user/1000/docker.sock' }, { DOCKER_CONTEXT: 'rootless' }]) {
      expect(docker.wrap({ argv: ['vllm'], env: { ...env, ...more } }, placeHere()).argv).not.toContain('--user');
    }
  });

  it('refuses another machine’s Docker and a missing image, with remedies', () => {
    for (const host of ['ssh://gpu-box', 'tcp://10.0.0.7:2375']) {
      try {
        docker.wrap({ argv: ['vllm'], env: { ...env, DOCKER_HOST: host } }, { engine: 'vllm' });
        expect.unreachable();
      } catch (error) {
        expect((error as InputError).problems.map(({ place, hint }) => [place, hint])).toEqual([
          ['host docker', 'run servetune on that machine'],
          ['engines vllm', expect.stringContaining('name the version or the image')],
        ]);
      }
    }
    expect(() => docker.wrap({ argv: ['vllm'], env: { ...env, DOCKER_HOST: 'tcp://127.0.0.1:2375' } }, placeHere())).not.toThrow(); // biome-ignore format: one call
  });
});
