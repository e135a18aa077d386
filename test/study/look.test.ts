import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { InputError, type Problem } from '../../src/kit/errors.ts';
import { parseStudy } from '../../src/study/read.ts';
import { resolveStudy } from '../../src/study/resolve.ts';
import { expectFreshBuild } from '../processes/living.ts';

const signal = new AbortController().signal;
let dir: string;
let environment: Record<string, string>;
beforeAll(() => expectFreshBuild());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-look-'));
  mkdirSync(join(dir, 'bin'));
  environment = { PATH: [join(dir, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'), HOME: dir };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function program(name: string, script: string): void {
  writeFileSync(join(dir, 'bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(dir, 'bin', name), 0o755);
}

async function looked(engines: string): Promise<{ told: readonly string[]; problems: readonly Problem[] }> {
  const told: string[] = [];
  const text = `name: s\nmodel: m/n\nengines: [${engines}]\nbaseline: { engine: vllm }\nstages: [{name: a, alternatives: [{engine: sglang}]}]\nworkloads: [{ name: w }]\n`;
  try {
    await resolveStudy(parseStudy(text, 's.yaml'), environment, signal, { onLook: (what) => told.push(what) });
    return { told, problems: [] };
  } catch (error) {
    if (error instanceof InputError) return { told, problems: error.problems };
    throw error;
  }
}

it('says which engine is being examined, and where', async () => {
  program('vllm', 'echo 0.11.0');
  program('uv', 'echo 0.5.5');
  const { told, problems } = await looked('vllm, { name: sglang, version: 0.5.5, host: uv }');
  expect(problems).toEqual([]);
  expect(told).toEqual(['examining vllm (local) ...', 'examining sglang@0.5.5 (uv) ...']);
});

it('names a missing interpreter and a missing image at once, each as soon as it is known', async () => {
  program('docker', 'case "$1" in image|pull) echo "manifest unknown" >&2; exit 1 ;; esac');
  const { told, problems } = await looked(
    '{ name: vllm, python: /nowhere/bin/python }, { name: sglang, version: 0.5.5, host: docker }',
  );
  const said = problems.map(({ place, message }) => `${place} ${message}`);
  expect(said).toHaveLength(2);
  expect(said[0]).toMatch(/engines\[0\].*\/nowhere\/bin\/python does not exist/);
  expect(said[1]).toMatch(/engines\[1\].*docker cannot pull lmsysorg\/sglang:v0\.5\.5: manifest unknown/);
  expect(told.filter((line) => line.includes('cannot be used'))).toHaveLength(2);
});

it('tells an install that failed together with what else is wrong', async () => {
  program('uv', 'echo "No solution found" >&2; exit 1');
  const { problems } = await looked(
    '{ name: vllm, python: /nowhere/python }, { name: sglang, version: 0.5.5, host: uv }',
  );
  expect(problems.map(({ message }) => message).join('\n')).toMatch(/does not exist[\s\S]*No solution found/);
});

it('gives no advice about Python for a program that is none', async () => {
  const { problems } = await looked('vllm, llama.cpp, { name: sglang, version: 0.5.5, python: /nowhere/python }');
  const hints = problems.map(({ hint }) => hint ?? '');
  expect(hints.find((hint) => hint.includes('llama-server'))).not.toMatch(/Python/);
  expect(hints.find((hint) => hint.includes('install vllm'))).toMatch(/Python/);
});
