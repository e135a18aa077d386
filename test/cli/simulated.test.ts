import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { expectFreshBuild } from '../built.ts';
import { folder, servetune, trialsOf } from './command.ts';

const dir = folder();
const env = { SERVETUNE_CACHE: join(dir, 'cache'), HF_HUB_OFFLINE: '1', PATH: '/nowhere' };
const text = `
name: virtual
model: Qwen/Qwen3-14B
engines:
  - { name: vllm, version: 0.11.0, host: uv }
  - { name: sglang, python: /opt/none/bin/python }
baseline: { engine: vllm }
stages:
  - { name: engine, alternatives: [{ engine: sglang }] }
  - { name: quantization, alternatives: [{ quantization: fp8 }] }
workloads:
  - { name: talk, dataset_name: sharegpt, num_prompts: 200 }
  - { name: long, random_input_len: 4000, random_output_len: 100, num_prompts: 40 }
repeats: { close_calls: 1 }
`;
const study = join(dir, 'study.yaml');
const tune = (run: string, ...more: readonly string[]) =>
  servetune(['tune', study, '--host', 'simulated', '--gpu', 'H100 SXM', '--run', run, ...more], { cwd: dir, env });

/** Every file of a folder, by its path in it. */
const filesIn = (path: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('run.db'))
      .map((entry) => [join(entry.parentPath, entry.name).slice(path.length), readFileSync(join(entry.parentPath, entry.name), 'latin1')]), // biome-ignore format: one line
  );

describe('tune --host simulated', () => {
  let told: Awaited<ReturnType<typeof tune>>;
  beforeAll(async () => {
    expectFreshBuild('study/simulated', 'trial', 'simulation', 'study');
    writeFileSync(study, text);
    told = await tune('one');
  }, 60_000);
  const run = join(dir, 'one');

  it('runs a whole study without any of its engines, and says so wherever a figure stands', () => {
    expect(told.stderr).not.toContain('fault of servetune');
    expect(told.code).toBe(0);
    expect(told.stderr).toContain('simulated on 1 x H100 SXM');
    for (const line of told.stderr.match(/^\[.*tok\/s.*$/gm) ?? ['none']) expect(line).toContain('(simulated total');
    expect(told.stdout).toMatch(/^Simulated: no engine ran/m);
    expect(told.stdout).toContain('Recommended (simulated)');
    expect(told.stdout).toContain('baseline → recommended (simulated)');
    const trials = trialsOf(run);
    expect(new Set(trials.map(({ workload }) => workload))).toEqual(new Set(['talk', 'long']));
    for (const trial of trials) expect(trial).toMatchObject({ fate: 'measured', simulated: true });
    using store = openStore(run, { readonly: true });
    expect(store.start()).toMatchObject({ simulated: true, uncalibrated: true, machine: { gpus: [expect.stringMatching(/H100 SXM.*simulated/)] } }); // biome-ignore format: one line
  });

  it('marks every format of its report', () => {
    const files = filesIn(run);
    const md = files['/report.md'] ?? '';
    expect(md.split('\n', 8).join('\n')).toMatch(/\(simulated\).*Simulated: no engine ran.*Uncalibrated/s);
    for (const caption of md.match(/^\*.*tok\/s.*\*$/gm) ?? []) expect(caption).toContain('(simulated)');
    expect(md).not.toContain('1970');
    expect(files['/report.html']).toContain('Simulated: no engine ran');
    expect(JSON.parse(files['/report.json'] ?? '')).toMatchObject({ simulated: true, uncalibrated: true });
  });

  it('gives the same bytes again in another folder', async () => {
    const { code } = await tune('two');
    expect(code).toBe(0);
    const [first, second] = [filesIn(run), filesIn(join(dir, 'two'))];
    expect(Object.keys(first).length).toBeGreaterThan(8);
    expect(Object.keys(second).sort()).toEqual(Object.keys(first).sort());
    for (const [name, content] of Object.entries(first)) expect(second[name] === content, name).toBe(true);
  }, 60_000);

  it('resumes nothing but a simulated run', async () => {
    const again = await tune('one', '--resume', '--json');
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ simulated: true, qualified: true });
    expect(again.stderr).toMatch(/resumed: \d+ trials kept/);
    const elsewhere = await servetune(['tune', study, '--run', 'one', '--gpu', 'H100'], { cwd: dir, env });
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toContain('--gpu: belongs to --host simulated');
  }, 60_000);

  it('says of its records what they are', async () => {
    const { stdout, stderr } = await servetune(['summarize', join(run, 'trials/001')]);
    expect(stdout).toContain('SIMULATED Serving Benchmark Result');
    expect(stderr).toContain('are simulated: no engine ran');
  });

  it('wants to know the GPU', async () => {
    const { code, stderr } = await servetune(['tune', study, '--host', 'simulated', '--run', 'none'], {
      cwd: dir,
      env,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/hardware: is missing.*\n.*--gpu/);
  });

  it('prints the commands of a study whose engines are not here', async () => {
    const { code, stdout } = await tune('none', '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain('vllm serve Qwen/Qwen3-14B');
  });
});

it('really sends the loads with --live, to simulated servers', async () => {
  const path = join(dir, 'live.yaml');
  writeFileSync(
    path,
    `
name: live
model: Qwen/Qwen3-14B
hardware: { gpu: H100 SXM }
engines: [vllm@0.11.0]
baseline: { engine: vllm }
stages: []
workloads: [{ name: short, random_input_len: 64, random_output_len: 8, num_prompts: 16, max_concurrency: 8 }]
limits: { stress_burst_tokens: 0 }
`,
  );
  const live = ['tune', path, '--host', 'simulated', '--live', '--run', 'live'];
  const { code, stderr, stdout } = await servetune(live, { cwd: dir, env: { ...env, PATH: process.env.PATH ?? '' } });
  expect(stderr).not.toContain('fault of servetune');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('(simulated)');
  const trials = trialsOf(join(dir, 'live'));
  expect(trials.length).toBe(2);
  for (const trial of trials) {
    expect(trial).toMatchObject({ simulated: true, summary: { ok: 16, outputTokens: 16 * 8 } });
    expect(trial.client).toBeDefined();
    expect(trial.servingCommand.join(' ')).toMatch(/^vllm serve/);
  }
  const other = await servetune([...live.filter((word) => word !== '--live'), '--resume'], { cwd: dir, env });
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('its figures are those of simulated servers');
}, 120_000);
