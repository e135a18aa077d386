import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { folderFinding } from '../../src/study/doctor/disk.ts';
import { imagesOf, toolVersions } from '../../src/study/doctor/engines.ts';
import { engineVariableFindings, proxyFindings, sparesLoopback } from '../../src/study/doctor/environment.ts';
import type { Finding } from '../../src/study/doctor/finding.ts';
import { gpuFinding, gpuFindings } from '../../src/study/doctor/gpus.ts';
import {
  memoryFinding,
  openFilesFinding,
  portFinding,
  portRangeFinding,
  processesFinding,
  sharedMemoryFinding,
} from '../../src/study/doctor/limits.ts';
import { clockFindingOf, nodeFinding } from '../../src/study/doctor/system.ts';
import { type Examination, examine } from '../../src/study/doctor.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { standIn } from './gpu-box.ts';

const gib = 1024 ** 3;
const signal = new AbortController().signal;
let dir: string;
let environment: Record<string, string>;

beforeAll(() => expectFreshBuild());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-doctor-'));
  mkdirSync(join(dir, 'bin'));
  environment = {
    PATH: [join(dir, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: dir,
    HF_HUB_OFFLINE: '1',
  };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const findingsOf = ({ sections }: Examination, title: string): readonly Finding[] =>
  sections.find((section) => section.title === title)?.findings ?? [];

describe('limits', () => {
  it('needs a file for each request at once', () => {
    expect(openFilesFinding(1000, 20_000)).toMatchObject({ mark: 'ok' });
    expect(openFilesFinding(1000, null)).toMatchObject({ mark: 'ok', message: expect.stringContaining('no limit') });
    const refused = openFilesFinding(1000, 1024);
    expect(refused).toMatchObject({ mark: 'problem', message: expect.stringContaining('1024') });
    expect(refused.hint).toMatch(/ulimit -n \d+/);
  });

  it('knows what several GPUs need that one does not', () => {
    expect(sharedMemoryFinding(64 * 1024 ** 2, 1)).toMatchObject([{ mark: 'note' }]);
    expect(sharedMemoryFinding(64 * 1024 ** 2, 2)).toMatchObject([{ mark: 'problem' }]);
    expect(sharedMemoryFinding(16 * gib, 8)).toMatchObject([{ mark: 'ok' }]);
    expect(sharedMemoryFinding(null, 8)).toEqual([]);
  });

  it('tells of ports that are taken, or that outgoing connections may take', () => {
    expect(portFinding(8000)).toMatchObject({ mark: 'ok' });
    expect(portFinding(8003)).toMatchObject({ mark: 'note', message: expect.stringContaining('8003') });
    expect(portRangeFinding([32_768, 60_999])).toEqual([]);
    expect(portRangeFinding([1024, 65_535])).toMatchObject([
      { mark: 'note', message: expect.stringContaining('1024') },
    ]);
    expect(portRangeFinding([60_000, 60_999])).toMatchObject([
      { mark: 'note', message: expect.stringContaining('1000') },
    ]);
  });

  it('tells of few processes and little memory', () => {
    expect(processesFinding(100)).toMatchObject([{ mark: 'note', hint: expect.stringContaining('ulimit -u') }]);
    expect(processesFinding(null)).toMatchObject([{ mark: 'ok' }]);
    expect(memoryFinding(8 * gib, 4 * gib, 1)).toMatchObject({ mark: 'note' });
    expect(memoryFinding(8 * gib, 4 * gib, 0)).toMatchObject({ mark: 'ok', message: '8 GiB, of which 4 GiB are free' });
  });
});

describe('disk', () => {
  it('looks at the nearest folder that exists', () => {
    const found = folderFinding('runs', join(dir, 'not/yet/there'), { least: 1, severe: true, hint: 'h' });
    expect(found).toMatchObject({ mark: 'ok', message: expect.stringContaining('not/yet/there') });
  });

  it('is severe only where no study runs without', () => {
    const least = Number.MAX_SAFE_INTEGER;
    expect(folderFinding('runs', dir, { least, severe: true, hint: 'h' })).toMatchObject({
      mark: 'problem',
      hint: 'h',
    });
    expect(folderFinding('models', dir, { least, severe: false, hint: 'h' })).toMatchObject({ mark: 'note' });
    // Nobody may make files there, not even root.
    expect(folderFinding('runs', '/proc/1/runs', { least: 0, severe: true, hint: 'h' }).mark).not.toBe('ok');
  });
});

describe('proxies', () => {
  const proxied = { HTTP_PROXY: 'http://user:secret@proxy.example:3128' };

  it('is a problem when an engine would ask itself through one, with the line that mends it', () => {
    const [found] = proxyFindings(proxied, { pythonEngines: true });
    expect(found).toMatchObject({ mark: 'problem', hint: expect.stringContaining("NO_PROXY='127.0.0.1,localhost'") });
    expect(found?.message).toContain('proxy.example:3128');
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(proxyFindings(proxied, { pythonEngines: false })).toMatchObject([{ mark: 'note' }]);
    expect(proxyFindings({ ...proxied, NODE_USE_ENV_PROXY: '1' }, { pythonEngines: false })).toMatchObject([
      { mark: 'problem' },
    ]);
  });

  it('keeps what NO_PROXY has already, and looks at the name that Python prefers', () => {
    const [found] = proxyFindings({ ...proxied, NO_PROXY: 'a.example' }, { pythonEngines: true });
    expect(found?.hint).toContain("'a.example,127.0.0.1,localhost'");
    const both = { ...proxied, no_proxy: 'a.example', NO_PROXY: '127.0.0.1' };
    expect(proxyFindings(both, { pythonEngines: true })).toMatchObject([{ mark: 'problem' }]);
  });

  it('is none where only https goes through it', () => {
    expect(proxyFindings({ https_proxy: 'http://p:1' }, { pythonEngines: true })).toMatchObject([{ mark: 'ok' }]);
    expect(proxyFindings({}, { pythonEngines: true })).toMatchObject([{ mark: 'ok', message: 'none' }]);
  });

  it.each([
    ['127.0.0.1', true],
    ['a.example, 127.0.0.1', true],
    ['*', true],
    ['127.0.0.0/8', true],
    ['localhost', false],
    ['10.127.0.0.1', false],
    ['', false],
    [undefined, false],
  ])('NO_PROXY=%s', (value, spares) => {
    expect(sparesLoopback(value)).toBe(spares);
  });
});

describe('variables', () => {
  it('names those that engines read, without their values', () => {
    const found = engineVariableFindings({ VLLM_API_KEY: 'secret', SGLANG_TIMEOUT: '1', PATH: '/bin' });
    expect(found).toHaveLength(1);
    expect(found[0]?.message).toContain('SGLANG_TIMEOUT and VLLM_API_KEY');
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(engineVariableFindings({ PATH: '/bin' })).toEqual([]);
    expect(engineVariableFindings({ CUDA_VISIBLE_DEVICES: '1' })).toMatchObject([{ what: 'CUDA_VISIBLE_DEVICES' }]);
  });
});

describe('system', () => {
  it('wants a Node that is new enough', () => {
    expect(nodeFinding('20.0.0')).toMatchObject({ mark: 'ok' });
    expect(nodeFinding('18.20.8')).toMatchObject({ mark: 'problem' });
  });

  it('doubts a clock that is behind the program itself', () => {
    const clock = {
      nowMs: Date.UTC(2026, 10, 30),
      writtenMs: Date.UTC(2026, 10, 1),
      synchronized: true,
      source: 'tsc',
    };
    expect(clockFindingOf(clock)).toMatchObject({ mark: 'ok', message: '2026-11-30T00:00:00Z, synchronized' });
    expect(clockFindingOf({ ...clock, nowMs: 0 })).toMatchObject({ mark: 'problem' });
    expect(clockFindingOf({ ...clock, synchronized: false })).toMatchObject({ mark: 'note' });
    expect(clockFindingOf({ ...clock, source: 'hpet' })).toMatchObject({ mark: 'note' });
  });
});

describe('GPUs', () => {
  it('reads them, and who holds their memory', async () => {
    standIn(join(dir, 'bin'), { usedMiB: 70_000, holder: process.pid });
    const { gpus, findings } = await gpuFindings(environment, signal);
    expect(gpus).toMatchObject([{ name: 'NVIDIA H100 80GB HBM3', memoryMiB: 81_559 }]);
    expect(findings[0]).toMatchObject({ mark: 'problem', what: 'GPU 0', hint: expect.stringContaining('--reap') });
    expect(findings[0]?.message).toContain(`pid ${process.pid}`);
    expect(findings[0]?.message).toContain('compute capability 9.0');
  });

  it('is content with an idle one, and tells that persistence mode is off', async () => {
    standIn(join(dir, 'bin'), { usedMiB: 0, persistence: 'Disabled' });
    const { findings } = await gpuFindings(environment, signal);
    expect(findings).toMatchObject([{ mark: 'ok' }, { mark: 'note', what: 'persistence mode' }]);
  });

  it('does not take a broken driver for a machine without GPUs', async () => {
    standIn(join(dir, 'bin'), { broken: 'Failed to initialize NVML: Driver/library version mismatch' });
    const { gpus, findings } = await gpuFindings(environment, signal);
    expect(gpus).toEqual([]);
    expect(findings).toMatchObject([{ mark: 'problem', message: expect.stringContaining('mismatch') }]);
    expect(findings[0]?.hint).toContain('restart');
  });

  it('judges memory in use by its share', () => {
    const gpu = {
      vendor: 'nvidia', index: 0, uuid: 'GPU-1', name: 'NVIDIA H100', memoryMiB: 81_559, computeCapability: 90, driver: '580', powerLimitW: 700,
    } as const; // biome-ignore format: one card
    expect(gpuFinding(gpu, { usedMiB: 0 })).toMatchObject({ mark: 'ok' });
    expect(gpuFinding(gpu, { usedMiB: 600 })).toMatchObject({ mark: 'note' });
    expect(gpuFinding(gpu, { usedMiB: 9000 })).toMatchObject({ mark: 'problem' });
    expect(gpuFinding(gpu, { usedMiB: null })).toMatchObject({ mark: 'ok' });
    const exclusive = { persistence: true, exclusive: true };
    expect(gpuFinding(gpu, { usedMiB: 0, mode: exclusive })).toMatchObject({ mark: 'note' });
  });
});

describe('engines', () => {
  it('reads the tools of uv and the images of docker', () => {
    expect([...toolVersions('ruff v0.6.2\n- ruff\nvllm v0.11.0\n- vllm\n')]).toEqual([
      ['ruff', '0.6.2'],
      ['vllm', '0.11.0'],
    ]);
    expect(imagesOf('vllm/vllm-openai:v0.11.0\nubuntu:24.04\nvllm/vllm-openai-fork:v1\n')).toEqual([
      'vllm/vllm-openai:v0.11.0',
    ]);
  });
});

describe('an examination', () => {
  it('finds an engine that works here, and one that has no GPU to use', async () => {
    writeStandInVllm('0.11.0');
    const found = await examine({ environment, signal });
    expect(found.engines).toContainEqual({ name: 'vllm', version: '0.11.0', host: 'local', works: false });
    expect(found.engines).toContainEqual(expect.objectContaining({ name: 'embedded', works: true }));
    expect(findingsOf(found, 'Engines')).toContainEqual(
      expect.objectContaining({ mark: 'note', what: 'vllm', message: expect.stringContaining('no GPU') }),
    );
    expect(found.ready).toBe(problemsIn(found).length === 0);
  });

  it('counts an engine on a GPU as one that works', async () => {
    writeStandInVllm('0.11.0');
    standIn(join(dir, 'bin'), {});
    const found = await examine({ environment, signal });
    expect(found.engines).toContainEqual({ name: 'vllm', version: '0.11.0', host: 'local', works: true });
  });

  it('tells an engine that is broken from one that is not there', async () => {
    writeProgram(
      'vllm',
      '#!/bin/sh\necho "ImportError: libcudart.so.13: cannot open shared object file" >&2\nexit 1\n',
    );
    const found = await examine({ environment, signal });
    const engines = findingsOf(found, 'Engines');
    expect(engines).toContainEqual(
      expect.objectContaining({ mark: 'problem', what: 'vllm', message: expect.stringContaining('libcudart') }),
    );
    expect(found.ready).toBe(false);
  });

  it('never shows a token, and gives every problem a remedy', async () => {
    const secret = 'hf_aSecretThatNobodyMaySee';
    const found = await examine({
      environment: {
        ...environment,
        HF_TOKEN: secret,
        http_proxy: `http://me:${secret}@proxy:1`,
        VLLM_API_KEY: secret,
      },
      signal,
    });
    expect(JSON.stringify(found)).not.toContain(secret);
    expect(findingsOf(found, 'Environment')).toContainEqual({ mark: 'ok', what: 'token', message: 'HF_TOKEN is set' });
    for (const { mark, hint } of problemsIn(found)) expect(mark === 'problem' && hint).toBeTruthy();
  });

  it('stops when it is told to', async () => {
    writeProgram('vllm', '#!/bin/sh\nsleep 60\n');
    const stop = new AbortController();
    const began = performance.now();
    setTimeout(() => stop.abort(new Error('enough')), 300);
    await expect(examine({ environment, signal: stop.signal })).rejects.toThrow('enough');
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

const problemsIn = ({ sections }: Examination): readonly Finding[] =>
  sections.flatMap(({ findings }) => findings.filter(({ mark }) => mark === 'problem'));

function writeProgram(name: string, text: string): void {
  writeFileSync(join(dir, 'bin', name), text);
  chmodSync(join(dir, 'bin', name), 0o755);
}

const writeStandInVllm = (version: string): void =>
  writeProgram(
    'vllm',
    readFileSync(join(import.meta.dirname, '../fixtures/stand-ins/vllm'), 'utf8').replaceAll('0.11.0', version),
  );
