import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { emptyFolder } from '../launch/stand-in.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { start } from './command.ts';

beforeAll(expectFreshBuild);

let dir: string;
beforeEach(() => {
  dir = emptyFolder();
});

const study = (more = ''): string => {
  const path = join(dir, 'study.yaml');
  writeFileSync(
    path,
    `
name: small
model: Qwen/Qwen3-14B
hardware: { gpu: H100 SXM }
engines: [vllm@0.11.0, sglang@0.5.5.post1]
baseline: { engine: vllm@0.11.0 }
stages:
  - { name: quantization, alternatives: [{ quantization: fp8 }] }
  - { name: memory, alternatives: [{ gpu_memory_fraction: 0.4 }, { gpu_memory_fraction: 0.2 }] }
workloads: [{ name: short, dataset_name: random, random_input_len: 300, random_output_len: 60, num_prompts: 200 }]
${more}`,
  );
  return path;
};
const predict = (...args: string[]) => start(['predict', ...args], { cwd: dir, env: {} }).ended;

it('says of each configuration whether it fits, what could be reached, and that all of it is simulated', async () => {
  const { code, stdout } = await predict(study());
  expect(code).toBe(0);
  expect(stdout).toMatch(/^SIMULATED for H100 SXM, workload short; uncalibrated, \+-25 %/);
  expect(stdout).toMatch(/baseline: vllm@0\.11\.0\n +[\d,]+ tok\/s, [\d.]+ % of the ceiling/);
  expect(stdout).toMatch(/gpu_memory_fraction=0\.2\n +does not run: .*(memory|weights|KV)/i);
  expect(stdout).toMatch(/^= quantization: .*fp8/m);
});

it('gives the same as JSON, marked likewise', async () => {
  const { stdout } = await predict(study(), '--json');
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({ simulated: true, accuracy: 'uncalibrated, +-25 %', tieShare: 0.15 });
  expect(told.predictions[0]).toMatchObject({ refused: null, figures: { completed: 200 } });
});

it('learns from published blocks, writes down what it learnt with its errors, and predicts with it', async () => {
  const blocks = new URL('../../tools/simulator/blocks/qwen3-14b.json', import.meta.url).pathname;
  const some = JSON.parse(readFileSync(blocks, 'utf8')).blocks.filter(
    (b: { gpu: string; workload: string }) => b.gpu === 'H100' && /128|4000/.test(b.workload),
  );
  writeFileSync(join(dir, 'some.json'), JSON.stringify({ blocks: some }));
  const { code, stdout } = await predict('--calibrate', 'some.json', '--calibration', 'h100.json');
  expect(code).toBe(0);
  expect(stdout).toContain(`fitted to ${some.length} observations`);
  const kept = JSON.parse(readFileSync(join(dir, 'h100.json'), 'utf8'));
  expect(kept.parameters['H100 SXM matrix FLOP/s']).toBeLessThan(500e12);
  expect(kept.errorLeavingOneOut.totalTokensPerS).toBeGreaterThan(kept.errorOnUsed.totalTokensPerS);

  const before = JSON.parse((await predict(study(), '--json')).stdout);
  const after = JSON.parse((await predict(study(), '--json', '--calibration', 'h100.json')).stdout);
  expect(after.accuracy).toContain(`calibrated on ${some.length} observations`);
  const total = (told: { predictions: { figures: { totalTokensPerS: number } }[] }): number =>
    told.predictions[0]?.figures.totalTokensPerS ?? 0;
  expect(total(after)).toBeLessThan(total(before));

  // A simulated study keeps what it was simulated with, and goes on with nothing else.
  const tune = (...args: string[]) =>
    start(['tune', study(), '--host', 'simulated', ...args], { cwd: dir, env: {} }).ended;
  const tuned = await tune('--calibration', 'h100.json', '--json');
  expect(tuned.code).toBe(0);
  expect(JSON.parse(tuned.stdout)).toMatchObject({ simulated: true });
  expect(JSON.parse(tuned.stdout).uncalibrated).toBeUndefined();
  const other = await tune('--resume');
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('hardware');
});

it('takes what a micro-benchmark measured', async () => {
  const rates = new URL('../fixtures/hardware/h200/gpu-rates.json', import.meta.url).pathname;
  const { code, stdout } = await predict('--gpu-rates', rates, '--calibration', 'h200.json');
  expect(code).toBe(0);
  expect(stdout).toMatch(/H200 matrix FLOP\/s: 67\d{13}\n/);
});

it('names everything that is wrong, and writes nothing then', async () => {
  const nothing = await predict();
  expect(nothing.code).toBe(2);
  expect(nothing.stderr).toContain('STUDY.yaml');
  writeFileSync(join(dir, 'bad.json'), '{"blocks": [{}]}');
  const bad = await predict('--calibrate', 'bad.json', '--calibration', 'out.json');
  expect(bad.code).toBe(2);
  expect(bad.stderr).toContain('bad.json: blocks.0.command');
  expect(() => readFileSync(join(dir, 'out.json'))).toThrow();
  const gpu = await predict(study(), '--gpu', 'Voodoo 2');
  expect(gpu.code).toBe(2);
  expect(gpu.stderr).toContain('Voodoo 2');
});
