// SGLang: its argument parser only. The environment has none of its kernels, so no study is run.
import { join } from 'node:path';
import { commandsOf } from './commands.mjs';
import { environmentWith, NotHere, outputOf, root } from './steps.mjs';
import { parsed } from './vllm.mjs';

const release = '0.5.11';
/** Newer `kernels` refuse what that release asks of them. */
const wanted = [`sglang==${release}`, 'kernels==0.14.1'];
/** Kernels and codecs are left out: its parser is read without them. */
const overrides = join(root, 'tools', 'engines', 'sglang-overrides.txt');

export async function parse({ work, sglang }) {
  let interpreter = sglang;
  try {
    interpreter ??= await environmentWith(work, 'sglang', wanted, overrides);
  } catch (error) {
    throw new NotHere(`sglang ${release} cannot be installed: ${error.message}`);
  }
  const printed = outputOf([interpreter, '-c', 'import importlib.metadata as m; print(m.version("sglang"))']);
  return parsed(interpreter, 'parse_sglang.py', await commandsOf('sglang', printed.trim()));
}
