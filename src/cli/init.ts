import { existsSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { exitCodes, InputError, messageOf, systemCode } from '../kit/errors.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { shellCommand } from '../kit/shell.ts';
import { draftStudy } from '../study/init.ts';
import { defineCommand } from './command.ts';

export default defineCommand({
  name: 'init',
  about: [
    'Writes a study file with comments: for each engine what is worth trying on the GPUs of this machine, stage by stage',
    '(engine, quantization, attention, then the rest), ShareGPT and random workloads of four lengths. Engines that are not',
    'named are those that are installed here and can serve the model. Read it, change it, then run it.',
  ].join('\n'),
  options: z.strictObject({
    model: z.string().min(1).describe('Model: a Hugging Face name, a folder, a GGUF file, or tiny-qwen3'),
    engines: z
      .string()
      .min(1)
      .optional()
      .describe('Engines, by commas, each as name or name@version; the first is the baseline; they need not be here'),
    host: z
      .enum(['local', 'uv', 'docker'])
      .default('local')
      .describe('Where and how the named engines are started; uv and docker need their versions'),
    output: z.string().min(1).default('study.yaml').describe('File that is written; - prints it instead'),
    force: z.boolean().default(false).describe('Overwrite the file if it is there'),
  }),
  examples: [
    ['servetune init --model Qwen/Qwen3-14B', 'with the engines that are installed'],
    [
      'servetune init --model Qwen/Qwen3-14B --engines vllm@0.11.0,sglang@0.5.5.post1 --host uv --output qwen.yaml',
      'with two engines that uv installs when the study runs',
    ],
  ],

  check: ({ host, engines }) =>
    host !== 'local' && engines === undefined
      ? [{ place: '--host', message: `${host} needs --engines`, hint: 'name them with their versions: vllm@0.11.0' }]
      : [],

  async run({ model, engines, host, output, force }, terminal) {
    const { environment, signal } = terminal;
    const printed = output === '-';
    // Before anything is looked up: that takes seconds.
    if (!printed && !force && existsSync(output)) throw occupied(output);
    const named = engines?.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
    terminal.status(`looking at the engines, the GPUs and ${model}`);
    const draft = await draftStudy(model, { host, ...(named === undefined ? {} : { named }) }, environment, signal);
    terminal.status('');
    if (printed) {
      terminal.print(draft.text.trimEnd());
      return exitCodes.done;
    }
    write(output, draft.text, force);
    terminal.print(output);
    terminal.note(`see what it would start:\n  ${shellCommand(['npx', 'servetune', 'tune', output, '--dry-run'])}`);
    return exitCodes.done;
  },
});

function write(path: string, text: string, force: boolean): void {
  try {
    if (force) writeFileAtomic(path, text);
    else writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw occupied(path);
    throw new InputError([
      { place: path, message: `cannot be written: ${messageOf(error)}`, hint: 'name another file with --output' },
    ]);
  }
}

const occupied = (path: string): InputError =>
  new InputError([{ place: path, message: 'is there already', hint: '--force overwrites it; --output names another' }]);
