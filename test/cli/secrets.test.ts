import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { engineServer } from '../engines/engine-server.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { folder, processesWith, servetune, trialsOf } from './command.ts';

beforeAll(expectFreshBuild);

/** A program that acts like `vllm`, first on PATH. */
const standIns = resolve(import.meta.dirname, '../fixtures/stand-ins');
/** Nothing about them but the names of flag and variable tells that they are secrets. */
const planted = { flag: 'plainflagvalue', variable: 'plainvariablevalue' };

let dir: string;
beforeEach(() => {
  dir = folder();
});
afterEach(() => expect(processesWith('stand-ins/vllm')).toEqual([]));

function writeStudy(key: string): string {
  const path = join(dir, 'study.yaml');
  writeFileSync(
    path,
    `
name: secret
model: Qwen/Qwen3-14B
engines: [vllm@0.11.0]
baseline: { engine: vllm, extra_args: "--hf-token ${key}" }
stages: [{ name: one, alternatives: [{ max_running_requests: 99 }, { extra_args: "--hf-token=${key} --seed 2" }] }]
workloads: [{ name: chat, random_input_len: 16, random_output_len: 4, num_prompts: 8, max_concurrency: 4 }]
repeats: { close_calls: 0 }
limits: { start_timeout_s: 20, load_timeout_s: 30, stall_timeout_s: 10 }
`,
  );
  return path;
}

/** Weights that were downloaded before, in the cache of Hugging Face's tools. */
function putIntoCache(): void {
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const model = join(dir, 'hf/hub/models--Qwen--Qwen3-14B');
  const snapshot = join(model, 'snapshots', commit);
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(model, 'refs'));
  writeFileSync(join(model, 'refs/main'), commit);
  writeFileSync(join(snapshot, 'config.json'), '{}');
  writeFileSync(join(snapshot, 'model.safetensors'), 'x');
}

const run = (args: readonly string[]) =>
  servetune(['tune', join(dir, 'study.yaml'), ...args], {
    cwd: dir,
    env: {
      PATH: `${standIns}:${process.env.PATH}`,
      HF_TOKEN: planted.variable,
      HF_HOME: join(dir, 'hf'),
      HF_HUB_OFFLINE: '1',
    },
  });

/** Every file of a run, by its path in it. */
const filesOf = (runDir: string): readonly string[] =>
  readdirSync(runDir, { recursive: true, encoding: 'utf8' }).filter((f) => statSync(join(runDir, f)).isFile());

it('leaves no secret in the terminal, the dry run, the database or a report, and the run has it all the same', async () => {
  putIntoCache();
  writeStudy(planted.flag);
  const runDir = join(dir, 'runs/secret');
  const dry = await run(['--dry-run']);
  const done = await run([]);
  expect(done).toMatchObject({ code: 0 });
  const said = [dry, done].map(({ stdout, stderr }) => stdout + stderr);
  expect(said[0]).toMatch(/vllm serve .*--hf-token '?<redacted/);
  expect(said[1]).toMatch(/neither <redacted> nor <redacted>/);
  expect(done.stdout).toMatch(/Recommended\n.*--hf-token[ =]'?<redacted-1>/);

  const failed = trialsOf(runDir).find((t) => t.configuration.settings.max_running_requests === 99);
  expect(failed?.failure?.message).toContain('neither <redacted> nor <redacted>');
  const files = filesOf(runDir);
  expect(files).toEqual(expect.arrayContaining(['run.db', 'report.md', 'report.html', 'report.json']));
  const logs = files.filter((f) => f.endsWith('engine.log'));
  const texts = [
    ...said,
    ...files.filter((f) => !logs.includes(f)).map((f) => readFileSync(join(runDir, f), 'latin1')),
  ];
  for (const secret of Object.values(planted)) {
    expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    // The engine itself had it.
    expect(logs.some((f) => readFileSync(join(runDir, f), 'utf8').includes(secret))).toBe(true);
  }

  // Nothing is measured twice, also with another key: it is no part of what was studied.
  const before = trialsOf(runDir);
  writeStudy('anothervalue');
  const again = await run(['--resume', '--json']);
  expect(again).toMatchObject({ code: 0 });
  expect(trialsOf(runDir)).toEqual(before);
  expect(again.stdout + again.stderr).not.toMatch(/plain(?:flag|variable)value|anothervalue/);
}, 120_000);

it('measures no server under the name of a model that it does not serve', async () => {
  const list = JSON.stringify({ object: 'list', data: [{ id: 'tiny-qwen3' }] });
  await using server = await engineServer({ 'GET /v1/models': [[200, list]] });
  writeFileSync(
    join(dir, 'study.yaml'),
    `
name: other
model: Qwen/Qwen3-14B
engines: [{ name: external, url: "${server.url.href}" }]
baseline: { engine: external }
stages: []
workloads: [{ name: chat, num_prompts: 8, max_concurrency: 4 }]
`,
  );
  const { code, stderr } = await run([]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/serves tiny-qwen3, not Qwen\/Qwen3-14B/);
  expect(stderr).toContain('served_model_name');
  expect(existsSync(join(dir, 'runs'))).toBe(false);
});
