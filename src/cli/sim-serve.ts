import { z } from 'zod';
import { exitCodes } from '../kit/errors.ts';
import { engineLabel } from '../records/settings.ts';
import { serveSimulated } from '../simulator/serving/serve.ts';
import { defineCommand } from './command.ts';
import { resolveSim, simulatedEngines } from './sim/resolve.ts';

export default defineCommand({
  name: 'sim serve',
  about: [
    'A simulated engine that speaks the OpenAI API: each token leaves when the simulation says that it would. It has the',
    'metrics, the cache reset and the settings of the engine that it imitates, and can die, hang, refuse and stall when it',
    'is told to. Texts are words without sense. Whatever it answers says that it is simulated, and so does `bench serve`.',
  ].join('\n'),
  options: z.strictObject({
    model: z.string().min(1).describe('Model by name (Qwen/Qwen3-14B), or a folder with its config.json'),
    engine: z
      .string()
      .default('vllm')
      .describe(`Engine to imitate: ${simulatedEngines.join(', ')}; with a version as in vllm@0.11.0`),
    gpu: z.string().min(1).describe('GPU, as nvidia-smi names it or for short: H100, "A100 PCIe", H200'),
    gpus: z
      .int()
      .min(1)
      .optional()
      .describe('How many of them; they share one copy of the model unless settings say otherwise'),
    setting: z
      .array(z.string())
      .default([])
      .describe('Setting of the engine under its engine-neutral name, KEY=VALUE; may be repeated'),
    calibration: z
      .string()
      .min(1)
      .optional()
      .describe('A file that `servetune predict --calibrate` wrote; without it uncalibrated'),
    acceptance: z
      .number()
      .min(0)
      .lt(1)
      .default(0.6)
      .describe('Share of drafted tokens that are accepted, where settings turn speculative decoding on'),
    time_scale: z.number().positive().default(1).describe('Simulated seconds in one real second; 2 is twice as fast'),
    seed: z.int().min(0).default(0).describe('Answers, their lengths and accepted drafts follow from it'),
    tokenizer: z
      .string()
      .optional()
      .describe(
        'Counts prompt tokens: a tokenizer.json, its folder, a model in the cache of Hugging Face, or tiny-qwen3; ' +
          'default: the one in the folder of the model, else a guess by words',
      ),
    served_model_name: z.string().min(1).optional().describe('Name that requests ask for; default: that of the model'),
    host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
    port: z.int().min(0).max(65535).default(8000).describe('Port to listen on; 0 takes a free one'),
    fail: z
      .array(z.string())
      .default([])
      .describe('What goes wrong at request N: die@N, hang@N, refuse@N or stall@N:SECONDS; may be repeated'),
  }),
  repeatable: ['setting', 'fail'],
  groups: [
    { title: 'What is simulated', keys: ['model', 'engine', 'gpu', 'gpus', 'setting', 'acceptance', 'calibration'] },
    { title: 'How it behaves', keys: ['time_scale', 'seed', 'tokenizer', 'fail'] },
    { title: 'Address', keys: ['host', 'port', 'served_model_name'] },
  ],
  examples: [
    ['servetune sim serve --model Qwen/Qwen3-14B --gpu H100 --engine sglang', 'in real time, on port 8000'],
    [
      'servetune sim serve --model Qwen/Qwen3-14B --gpu H100 --setting quantization=fp8 --time-scale 10 --fail die@100',
      'ten times as fast, until the hundredth request',
    ],
  ],

  async run(options, terminal) {
    const { environment, signal } = terminal;
    const { serving, notes } = await resolveSim(options, environment, signal);
    const { configuration, hardware } = serving.deployment;
    terminal.note(
      `simulated: ${engineLabel(configuration)} with ${options.model} on ${hardware.name}, ` +
        `${serving.timeScale} x real time; no figure from here was measured`,
    );
    for (const note of notes) terminal.note(note);
    await serveSimulated(serving, {
      signal,
      log: terminal.note,
      die(failure) {
        terminal.note(`dying of ${failure}`);
        process.exit(exitCodes.failed);
      },
    });
    await serving.tokenizer?.close?.();
    // Being told to stop is how a server ends well.
    return exitCodes.done;
  },
});
