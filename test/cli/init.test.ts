import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folder, servetune } from './command.ts';

let dir: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  dir = folder();
  mkdirSync(join(dir, 'bin'));
  env = { PATH: [join(dir, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'), HF_HUB_OFFLINE: '1' };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const init = (...args: string[]) => servetune(['init', ...args], { cwd: dir, env });

describe('servetune init', () => {
  it('writes a study with comments that a dry run takes, and says how to go on', async () => {
    copyFileSync(resolve(import.meta.dirname, '../fixtures/stand-ins/vllm'), join(dir, 'bin/vllm'));
    chmodSync(join(dir, 'bin/vllm'), 0o755);
    const { code, stdout, stderr } = await init('--model', 'Qwen/Qwen3-14B');
    expect(stderr).toContain('npx servetune tune study.yaml --dry-run');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'study.yaml\n' });
    const text = readFileSync(join(dir, 'study.yaml'), 'utf8');
    expect(text).toMatch(/^# Qwen\/Qwen3-14B: /);
    const dry = await servetune(['tune', 'study.yaml', '--dry-run'], { cwd: dir, env });
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.stdout).toContain('vllm serve Qwen/Qwen3-14B --host 127.0.0.1 --port 8000');
    expect(dry.stdout).toContain('--dataset-name sharegpt');
  });

  it('never overwrites a file, unless it is told to', async () => {
    writeFileSync(join(dir, 'study.yaml'), 'mine');
    const refused = await init('--model', 'tiny-qwen3');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--force');
    expect(readFileSync(join(dir, 'study.yaml'), 'utf8')).toBe('mine');
    expect((await init('--model', 'tiny-qwen3', '--force')).code).toBe(0);
    expect(readFileSync(join(dir, 'study.yaml'), 'utf8')).toContain('model: tiny-qwen3');
  });

  it('prints it with --output -, also for engines that are elsewhere', async () => {
    const { code, stdout } = await init('--model', 'Qwen/Qwen3-14B', '--engines', 'vllm@0.11.0', '--output', '-');
    expect(code).toBe(0);
    expect(stdout).toContain('- vllm@0.11.0');
    expect(existsSync(join(dir, 'study.yaml'))).toBe(false);
  });

  it('makes a study for a GPU that is not here, and says so where it cannot choose', async () => {
    const model = ['--model', 'Qwen/Qwen3-14B', '--output', '-'];
    const elsewhere = await init(...model, '--engines', 'vllm@0.11.0', '--gpu', 'H100', '--gpus', '2');
    expect(elsewhere).toMatchObject({ code: 0, stderr: '' });
    expect(elsewhere.stdout).toContain('tensor_parallel: 2');
    const nothing = await init(...model, '--python', 'vllm=/v/python', '--python', 'sglang=/s/python');
    expect(nothing).toMatchObject({ code: 0, stderr: expect.stringContaining('No stages for vllm and sglang') });
    expect(nothing.stdout).toContain('python: /s/python');
    expect(await init(...model, '--gpus', '2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--gpu H100'),
    });
  });

  it('names all that is wrong at once', async () => {
    const { code, stderr } = await init('--engines', 'vlm,vllm', '--host', 'uv', '--model', 'm');
    expect(code).toBe(2);
    expect(stderr).toContain('vlm');
    expect(stderr).toContain('needs a version');
    expect((await init('--model', 'm', '--host', 'uv')).stderr).toContain('needs --engines');
    const nowhere = await init('--model', 'tiny-qwen3', '--output', 'no/such/folder/study.yaml');
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--output') });
  });
});

describe('the reference study', () => {
  it('starts what that study started, with a port on loopback, and sends what it sent', async () => {
    const study = resolve(import.meta.dirname, '../../examples/qwen3-14b-h100.yaml');
    const { code, stdout, stderr } = await servetune(['tune', study, '--dry-run'], { cwd: dir, env });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const at = '--host 127.0.0.1 --port 8000';
    const sglang = 'python3 -m sglang.launch_server --model-path Qwen/Qwen3-14B';
    const lines = stdout.split('\n');
    for (const command of [
      `vllm serve Qwen/Qwen3-14B ${at}`,
      `${sglang} ${at}`,
      `trtllm-serve Qwen/Qwen3-14B ${at}`,
      `${sglang}-FP8 ${at}`,
      ...['fa3', 'flashinfer', 'triton'].map((backend) => `${sglang}-FP8 ${at} --attention-backend ${backend}`),
    ]) {
      expect(lines).toContain(command);
    }
    const loads = lines.filter((line) => line.includes(' bench serve '));
    // Each configuration's own, then the four workloads on which only baseline and winner are measured.
    expect(loads).toHaveLength(7 + 4);
    expect(loads.filter((load) => load.includes('--model Qwen/Qwen3-14B-FP8 '))).toHaveLength(4);
    expect(loads[0]).toContain('--backend openai-chat --dataset-name sharegpt --num-prompts 1000');
    expect(
      loads.some((l) => /--num-prompts 500 --seed 42 --random-input-len 4000 --random-output-len 200/.test(l)),
    ).toBe(true);
  });

  it('prints the newer flags for newer versions', async () => {
    const study = (vllm: string): string => `name: s
model: Qwen/Qwen3-14B
engines: [vllm@${vllm}]
baseline: { engine: vllm }
stages:
  - { name: attention, alternatives: [{ attention_backend: flashinfer }] }
  - { name: CUDA graphs, alternatives: [{ cuda_graph_max_batch: 256 }] }
workloads: [{ name: short, random_input_len: 128, random_output_len: 4 }]
`;
    const commands = async (vllm: string): Promise<string> => {
      writeFileSync(join(dir, 'study.yaml'), study(vllm));
      return (await servetune(['tune', 'study.yaml', '--dry-run'], { cwd: dir, env })).stdout;
    };
    const [older, newer] = [await commands('0.11.0'), await commands('0.25.1')];
    expect(older).toContain('env VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve Qwen/Qwen3-14B');
    expect(older).toContain('--cuda-graph-sizes 256');
    expect(newer).toContain('--attention-backend FLASHINFER');
    expect(newer).toContain('--max-cudagraph-capture-size 256');
    expect(newer).not.toContain('VLLM_ATTENTION_BACKEND');
  });
});
