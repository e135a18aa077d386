import { z } from 'zod';
import { type SettingName, settingNames } from './settings.ts';
import { workload } from './workload.ts';

const names = Object.keys(settingNames) as SettingName[];
const settingValue = z.union([z.string(), z.number(), z.boolean()]);

/** Settings in YAML: each engine-neutral name is a key; the engine checks the value. */
const settingKeys = Object.fromEntries(
  names.map((name) => [name, settingValue.optional().describe(settingNames[name])]),
) as Record<SettingName, z.ZodOptional<typeof settingValue>>;

/** A part of a configuration: an engine, settings, or both. */
const alternative = z
  .strictObject({
    engine: z.string().optional().describe('One of the names under engines'),
    ...settingKeys,
  })
  .refine((a) => Object.keys(a).length > 0, 'an alternative names an engine or at least one setting');

const engineEntry = z.strictObject({
  name: z.string().describe('Engine: see servetune tune --help for those that exist'),
  version: z.string().optional().describe('Version that must be found; none means whatever is installed'),
  host: z
    .enum(['local', 'uv', 'docker', 'simulated'])
    .default('local')
    .describe(
      'Where and how the engine is started; simulated starts nothing and predicts, and then all entries must be',
    ),
  python: z
    .string()
    .optional()
    .describe(
      'With host local: the interpreter of the virtual environment that holds the engine, /opt/vllm/bin/python',
    ),
  url: z.url().optional().describe('With name external: where the server that runs already answers, http://host:8000'),
  served_model_name: z
    .string()
    .min(1)
    .optional()
    .describe('With name external: the name under which the server serves the model, where it is another one'),
  image: z
    .string()
    .optional()
    .describe('With host docker: the image, where it is not the engine’s own for that version'),
});

/** Metrics that an objective or a constraint may name. `metrics/objective.ts` says how each is read from a summary. */
export const objectiveMetrics = [
  'total_token_throughput',
  'output_throughput',
  'request_throughput',
  'mean_ttft_ms',
  'p99_ttft_ms',
  'mean_tpot_ms',
  'p99_tpot_ms',
  'mean_itl_ms',
  'p99_itl_ms',
  'mean_e2el_ms',
  'p99_e2el_ms',
] as const;
export type ObjectiveMetric = (typeof objectiveMetrics)[number];

/** The study file. Every key, default, range and unit of the YAML is here and nowhere else. */
export const studySpec = z.strictObject({
  name: z
    .string()
    .regex(/^[a-zA-Z0-9][\w.-]{0,60}$/, 'letters, digits, ., - and _')
    .describe('Name of the study; the run goes to ./runs/NAME unless --run says otherwise'),
  model: z
    .string()
    .min(1)
    .describe('Model: a Hugging Face name, a folder, a GGUF file, or tiny-qwen3 (made here, no download)'),
  hardware: z
    .strictObject({
      gpu: z.string().min(1).describe('Name of the GPU, as in H100 SXM, H200, A100 PCIe 40GB'),
      count: z.int().min(1).max(1024).default(1).describe('How many of them engines may use'),
      parameters: z
        .record(z.string(), z.number().positive())
        .optional()
        .describe(
          'What `predict --calibrate` found of GPU and engines, by its names; without it predictions are uncalibrated',
        ),
    })
    .optional()
    .describe('What figures are predicted for; engines that are really started use the GPUs that are there'),
  engines: z
    .array(z.union([z.string().regex(/^[^@\s]+(@[^@\s]+)?$/, 'name or name@version'), engineEntry]))
    .min(1)
    .describe('Engines that may be started, as name, name@version or {name, version, host, ...}'),
  baseline: alternative.describe(
    'The configuration that everything is compared with; keys left out are the engine’s defaults',
  ),
  stages: z
    .array(
      z.strictObject({
        name: z.string().min(1).describe('What the stage decides: engine, quantization, attention, ...'),
        alternatives: z.array(alternative).min(1).describe('Each is tried on top of what earlier stages chose'),
      }),
    )
    .describe('Sets of alternatives, tried one stage after the other'),
  workloads: z
    .array(workload)
    .min(1)
    .describe('What is sent; the objective’s workload decides; on the others only baseline and winner are measured'),
  objective: z
    .strictObject({
      metric: z
        .enum(objectiveMetrics)
        .default('total_token_throughput')
        .describe('Throughputs are maximised, latencies minimised'),
      workload: z.string().optional().describe('Name of the workload that decides; none means the first'),
    })
    .prefault({})
    .describe('What is made best'),
  constraints: z
    .array(
      z.strictObject({
        metric: z.enum(objectiveMetrics).describe('What must hold on the objective’s workload'),
        at_most: z.number().optional().describe('Largest value that is allowed'),
        at_least: z.number().optional().describe('Smallest value that is allowed'),
      }),
    )
    .default([])
    .describe('A configuration that breaks one of these cannot win'),
  strategy: z.enum(['staged']).default('staged').describe('How the next configuration is chosen'),
  repeats: z
    .strictObject({
      close_calls: z
        .int()
        .min(0)
        .max(20)
        .default(2)
        .describe('Most extra fresh-start repeats a configuration, spent only where a comparison is too close to call'),
    })
    .prefault({})
    .describe('How often trials are repeated'),
  budget: z
    .strictObject({
      max_trials: z.int().positive().default(200).describe('Most trials, failures included'),
      max_duration_s: z.number().positive().optional().describe('No new stage trial begins after this long, seconds'),
    })
    .prefault({})
    .describe('What the study may cost'),
  limits: z
    .strictObject({
      start_timeout_s: z
        .number()
        .positive()
        .max(86_400)
        .default(1800)
        .describe('Longest that an engine may take to be ready, seconds'),
      load_timeout_s: z
        .number()
        .positive()
        .max(604_800)
        .default(3600)
        .describe('Longest that one load may take, seconds'),
      stall_timeout_s: z
        .number()
        .positive()
        .max(86_400)
        .default(120)
        .describe('No byte from any stream for this long means hung, seconds'),
      stress_burst_tokens: z
        .int()
        .min(0)
        .max(1_000_000_000)
        .optional()
        .describe(
          'Most tokens, prompts and answers, of the burst that a winner must live through before it is recommended; 0 sends none; none given means twice what fills the KV cache, or 200,000 where its size is not known',
        ),
    })
    .prefault({})
    .describe('When a trial is given up'),
});

export type StudySpec = z.infer<typeof studySpec>;
export type Alternative = z.infer<typeof alternative>;
