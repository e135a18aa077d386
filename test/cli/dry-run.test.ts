import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folder, servetune } from './command.ts';

let dir: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  dir = folder();
  env = { PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(':'), HOME: dir, HF_HUB_OFFLINE: '1' };
  env.SERVETUNE_CACHE = join(dir, 'cache');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const short = '{ name: short, random_input_len: 128, random_output_len: 4, num_prompts: 50, max_concurrency: 8 }';

async function dryRun(engines: string, rest: string, workloads = short) {
  const text = `name: s\nmodel: Qwen/Qwen3-14B\nengines: [${engines}]\n${rest}\nworkloads: [${workloads}]\n`;
  writeFileSync(join(dir, 'study.yaml'), text);
  const { code, stdout, stderr } = await servetune(['tune', 'study.yaml', '--dry-run'], { cwd: dir, env });
  return { code, stderr, lines: stdout.split('\n'), stdout };
}

describe('a dry run', () => {
  it('prints what the host starts: uv, an interpreter, docker', async () => {
    const { code, lines, stdout } = await dryRun(
      [
        '{ name: vllm, version: 0.11.0, host: uv }',
        '{ name: vllm, version: 0.25.1, python: /opt/v/bin/python }',
        '{ name: sglang, version: 0.5.5.post1, python: /opt/s/bin/python }',
        '{ name: tensorrt-llm, version: 1.2.0, host: docker }',
      ].join(', '),
      `baseline: { engine: vllm@0.11.0 }
stages: [{ name: engine, alternatives: [{ engine: vllm@0.25.1 }, { engine: sglang }, { engine: tensorrt-llm }] }]`,
    );
    expect(code).toBe(0);
    const at = '--host 127.0.0.1 --port 8000';
    expect(lines).toContain(`uv tool run --from vllm==0.11.0 vllm serve Qwen/Qwen3-14B ${at}`);
    expect(lines).toContain(`/opt/v/bin/vllm serve Qwen/Qwen3-14B ${at}`);
    expect(lines).toContain(`/opt/s/bin/python -m sglang.launch_server --model-path Qwen/Qwen3-14B ${at}`);
    expect(stdout).toMatch(
      /^docker run .* --entrypoint trtllm-serve nvcr\.io\/nvidia\/tensorrt-llm\/release:1\.2\.0 /m,
    );
  });

  it('prints each alternative on an engine that has it, and where it is not started', async () => {
    const { lines, stdout } = await dryRun(
      'vllm@0.11.0, sglang@0.5.5.post1',
      `baseline: { engine: vllm }
stages:
  - { name: engine, alternatives: [{ engine: sglang }] }
  - { name: attention, alternatives: [{ attention_backend: triton }, { attention_backend: triton_attn }] }
  - { name: scheduling, alternatives: [{ scheduling_conservativeness: 0.3 }] }`,
    );
    expect(stdout).not.toContain('VLLM_ATTENTION_BACKEND=TRITON ');
    const below = (comment: string): readonly string[] => lines.slice(lines.indexOf(comment) + 1).slice(0, 2);
    const triton = below('# attention: sglang@0.5.5.post1 attention_backend=triton');
    expect(triton[0]).toMatch(/not started if vllm@0\.11\.0 is ahead: vllm has no attention_backend “triton”/);
    expect(triton[1]).toMatch(/^python3 -m sglang\.launch_server .* --attention-backend triton$/);
    const own = below('# attention: vllm@0.11.0 attention_backend=triton_attn');
    expect(own[0]).toMatch(/not started if sglang@0\.5\.5\.post1 is ahead/);
    expect(own[1]).toMatch(/^env VLLM_ATTENTION_BACKEND=TRITON_ATTN\S* vllm serve/);
    expect(below('# scheduling: sglang@0.5.5.post1 scheduling_conservativeness=0.3')[0]).toContain(
      'vllm has no setting scheduling_conservativeness',
    );
    expect(lines.filter((line) => line.includes('as if the baseline stayed ahead'))).toHaveLength(1);
  });

  it('says what no engine takes, of each engine', async () => {
    const { code, stderr } = await dryRun(
      'vllm@0.11.0, sglang@0.5.5.post1',
      `baseline: { engine: vllm }
stages:
  - { name: engine, alternatives: [{ engine: sglang }] }
  - { name: attention, alternatives: [{ attention_backend: fa4 }, { max_running_requests: 0 }] }`,
    );
    expect(code).toBe(2);
    expect(stderr).toContain('vllm@0.11.0: vllm has no attention_backend “fa4”');
    expect(stderr).toContain('sglang@0.5.5.post1: sglang has no attention_backend “fa4”');
    expect(stderr).toContain('vllm@0.11.0: must be more than 0');
  });

  it('starts nothing for a server that runs already, and loads that server', async () => {
    const { lines, stdout } = await dryRun(
      '{ name: external, version: "1", url: "http://127.0.0.1:9/llm/" }',
      'baseline: { engine: external }\nstages: []',
    );
    expect(lines).toContain('# already running at http://127.0.0.1:9/llm/');
    expect(stdout).toContain('bench serve --base-url http://127.0.0.1:9/llm --model Qwen/Qwen3-14B');
    expect(stdout).not.toContain(':8000');
    expect(lines).not.toContain("''");
    expect(lines[0]).toContain('nothing is started');
  });

  it('begins with how much it is, what the warm-ups are, and that ShareGPT is missing', async () => {
    const { lines } = await dryRun(
      'vllm@0.11.0',
      `baseline: { engine: vllm }
stages: [{ name: batch, alternatives: [{ max_running_requests: 64 }, { max_running_requests: 128 }] }]
repeats: { close_calls: 1 }`,
      `${short}, { name: sharegpt, dataset_name: sharegpt, num_prompts: 100 }`,
    );
    // Least: baseline and two alternatives, the baseline on ShareGPT, and again. Most: each of three twice; then winner
    // and baseline on ShareGPT, the baseline again, the confirmation.
    expect(lines[0]).toMatch(/^# s: 5 to 10 engine starts, 5 to 10 measurements;/);
    expect(lines[1]).toMatch(/warm-ups, 8 to 100 requests/);
    expect(lines.slice(2, 4).join(' ')).toMatch(/ShareGPT is not here: .*npx servetune dataset fetch sharegpt/);
    const without = await dryRun('vllm@0.11.0', 'baseline: { engine: vllm }\nstages: []');
    expect(without.stdout).not.toContain('ShareGPT');
    expect(without.lines[0]).toMatch(/2 to 5 engine starts/);
  });
});

describe('what is not sound in itself', () => {
  const baseline = 'baseline: { engine: vllm }\nstages: []';
  it.each([
    ['vllm@0.11.0, vllm@0.25.1', /“vllm” may be vllm@0\.11\.0 or vllm@0\.25\.1/],
    ['vllm@0.11.0, { name: vllm, version: 0.11.0, python: /v/bin/python }', /vllm@0\.11\.0 is there twice/],
    ['{ name: vllm, version: abc }', /version: “abc” is no version/],
    ['{ name: vllm, version: 0.25 }', /must be text, and YAML reads a number there[\s\S]*put it in quotes: version:/],
    ['{ name: vllm, python: "" }', /python: names no interpreter/],
    ['{ name: vllm, host: uv }', /vllm needs a version, since host uv installs it/],
    ['vllm@0.11.0, { name: llama.cpp, version: b6000, host: uv }', /uv cannot bring llama\.cpp[\s\S]*local or docker/],
    ['{ name: vllm, version: 0.11.0, host: docker, python: /v/bin/python }', /python: means nothing to host docker/],
    ['{ name: vllm, version: 0.11.0, image: a/b }', /image: means nothing to host local/],
  ])('%s', async (engines, expected) => {
    const { code, stderr } = await dryRun(engines, baseline);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toContain('install vllm abc');
    expect(code).toBe(2);
  });

  it.each([
    ['max_running_requests: 12', '--max-num-seqs 384', '--max-num-seqs contradicts max_running_requests'],
    ['max_running_requests: 12', '--max_num_seqs=384', '--max_num_seqs contradicts max_running_requests'],
    ['tensor_parallel: 2', '-tp 4', '-tp contradicts tensor_parallel, which writes --tensor-parallel-size'],
    ['prefix_caching: false', '--enable-prefix-caching', '--enable-prefix-caching contradicts prefix_caching'],
  ])('%s with extra_args %s', async (setting, extra, expected) => {
    const { stderr } = await dryRun(
      'vllm@0.11.0',
      `baseline: { engine: vllm, ${setting}, extra_args: "${extra}" }\nstages: []`,
    );
    expect(stderr).toContain(expected);
    const alone = await dryRun('vllm@0.11.0', `baseline: { engine: vllm, extra_args: "${extra}" }\nstages: []`);
    expect(alone).toMatchObject({ code: 0, stderr: '' });
  });

  it('tells whose value it is that an engine does not have', async () => {
    const { stderr } = await dryRun('vllm@0.11.0', 'baseline: { engine: vllm, attention_backend: fa3 }\nstages: []');
    expect(stderr).toMatch(
      /vllm has no attention_backend “fa3”; it is one of sglang[\s\S]*vllm has: flash_attn, flashinfer/,
    );
  });
});

describe('servetune tune --model', () => {
  it('takes engines, hosts and interpreters as init does', async () => {
    mkdirSync(join(dir, 'bin'));
    const model = ['tune', '--model', 'Qwen/Qwen3-14B', '--dry-run'];
    const uv = await servetune([...model, '--engines', 'vllm@0.11.0', '--host', 'uv'], { cwd: dir, env });
    expect(uv).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('uv tool run --from vllm==0.11.0 vllm serve'),
    });
    const python = await servetune([...model, '--python', 'vllm=/v/bin/python', '--python', 'sglang=/s/bin/python'], {
      cwd: dir,
      env,
    });
    expect(python.stderr).toBe('');
    expect(python.stdout).toContain('/v/bin/vllm serve');
    expect(python.stdout).toContain('/s/bin/python -m sglang.launch_server');
    const file = await servetune(['tune', 'study.yaml', '--engines', 'vllm'], { cwd: dir, env });
    expect(file).toMatchObject({ code: 2, stderr: expect.stringContaining('--engines: belongs to --model') });
  });
});
