import { existsSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { exitCodes, InputError, messageOf, systemCode } from '../kit/errors.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { invocation } from '../kit/invocation.ts';
import { shellCommand } from '../kit/shell.ts';
import { draftStudy } from '../study/init.ts';
import { defineCommand } from './command.ts';
import { draftOf, draftProblems, draftRepeatable, draftShape } from './draft-options.ts';

export default defineCommand({
  name: 'init',
  about: [
    'Writes a study file with comments: for each engine what is worth trying on the GPUs of this machine, stage by stage',
    '(engine, quantization, attention, then the rest), ShareGPT and random workloads of four lengths. Engines that are not',
    'named are those that are installed here and can serve the model. Read it, change it, then run it.',
  ].join('\n'),
  options: z.strictObject({
    model: z.string().min(1).describe('Model: a Hugging Face name, a folder, a GGUF file, or tiny-qwen3'),
    ...draftShape,
    gpu: z
      .string()
      .min(1)
      .optional()
      .describe('Make the study for GPUs that are not here, by the name of their kind: H100, L4, MI300X'),
    gpus: z.int().min(1).max(64).optional().describe('How many of them; default 1'),
    output: z.string().min(1).default('study.yaml').describe('File that is written; - prints it instead'),
    force: z.boolean().default(false).describe('Overwrite the file if it is there'),
  }),
  examples: [
    ['servetune init --model Qwen/Qwen3-14B', 'with the engines that are installed'],
    [
      'servetune init --model Qwen/Qwen3-14B --engines vllm@0.11.0,sglang@0.5.5.post1 --host uv --output qwen.yaml',
      'with two engines that uv installs when the study runs',
    ],
    [
      'servetune init --model Qwen/Qwen3-14B --python vllm=/opt/vllm/bin/python --python sglang=/opt/sglang/bin/python',
      'with engines in environments of their own',
    ],
    [
      'servetune init --model Qwen/Qwen3-14B --engines vllm@0.11.0 --gpu H100 --gpus 2',
      'for a machine with two H100, on another one',
    ],
  ],
  repeatable: draftRepeatable,

  check: (options) => [
    ...draftProblems(options),
    ...(options.gpus !== undefined && options.gpu === undefined
      ? [{ place: '--gpus', message: 'needs --gpu', hint: 'name their kind: --gpu H100' }]
      : []),
  ],

  async run({ model, output, force, gpu, gpus, ...asked }, terminal) {
    const { environment, signal } = terminal;
    const printed = output === '-';
    // Before anything is looked up: that takes seconds.
    if (!printed && !force && existsSync(output)) throw occupied(output);
    terminal.status(`looking at the engines, the GPUs and ${model}`);
    const elsewhere = gpu === undefined ? {} : { gpus: { gpu, count: gpus ?? 1 } };
    const draft = await draftStudy(model, { ...draftOf(asked), ...elsewhere }, environment, signal);
    terminal.status('');
    for (const note of draft.notes) terminal.note(note);
    if (printed) {
      terminal.print(draft.text.trimEnd());
      return exitCodes.done;
    }
    write(output, draft.text, force);
    terminal.print(output);
    terminal.note(`see what it would start:\n  ${shellCommand([...invocation, 'tune', output, '--dry-run'])}`);
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
