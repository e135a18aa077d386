import type { RunData } from '../../src/records/run.ts';
import type { Configuration } from '../../src/records/settings.ts';
import type { SearchSpace } from '../../src/records/space.ts';
import { type StudySpec, studySpec } from '../../src/records/study.ts';
import type { ClientHealth, Distribution, Summary } from '../../src/records/summary.ts';
import type { FinishedTrial, Proposal } from '../../src/records/trial.ts';
import { nextProposals } from '../../src/search/plan.ts';
import { staged } from '../../src/search/staged.ts';
import { exampleTelemetry, exampleWeights } from './telemetry.ts';

/** Shapes that a run can have; `many` is a whole study with close calls, a failed trial and two further workloads. */
export const shapes = ['none', 'one', 'many', 'all_failed', 'keep_baseline', 'latency', 'unfinished'] as const;
export type Shape = (typeof shapes)[number];

export interface FixtureOptions {
  readonly simulated?: boolean;
  /** Text planted into log, error, command and warning. */
  readonly planted?: string;
}

const model = 'Qwen/Qwen3-14B';

export function exampleStudy(shape: Shape): StudySpec {
  return studySpec.parse({
    name: 'qwen3-14b',
    model,
    engines: ['vllm@0.11.0'],
    baseline: { engine: 'vllm' },
    stages: [
      { name: 'quantization', alternatives: [{ quantization: 'fp8' }, { quantization: 'awq' }] },
      {
        name: 'attention',
        alternatives: [{ attention_backend: 'flashinfer' }, { attention_backend: 'triton_attn' }],
      },
      {
        name: 'batch',
        alternatives: [{ max_batched_tokens: 8192, max_running_requests: 512 }, { max_batched_tokens: 16384 }],
      },
    ],
    workloads: [
      { name: 'chat', random_input_len: 512, random_output_len: 256, num_prompts: 1000, seed: 42 },
      { name: 'short-prompts', random_input_len: 128, random_output_len: 4, num_prompts: 1000, seed: 42 },
      {
        name: 'long-prompts',
        random_input_len: 4000,
        random_output_len: 200,
        random_range_ratio: 0.2,
        num_prompts: 500,
        max_concurrency: 128,
        seed: 42,
      },
    ],
    objective: shape === 'latency' ? { metric: 'mean_tpot_ms' } : {},
    constraints: [{ metric: 'p99_ttft_ms', at_most: 120_000 }],
    repeats: { close_calls: 2 },
  });
}

const baseline: Configuration = { engine: 'vllm', version: '0.11.0', settings: {} };

/** How much faster a configuration truly is than the baseline; null where it runs out of memory. */
function speed({ settings }: Configuration, shape: Shape, workload: string): number | null {
  if (shape === 'all_failed' || settings.quantization === 'awq') return null;
  const gentle = workload === 'long-prompts' ? 0.4 : workload === 'short-prompts' ? 0.02 : 1;
  const quantization = settings.quantization === 'fp8' ? 0.31 : 0;
  const attention = settings.attention_backend === 'flashinfer' ? -0.12 : settings.attention_backend ? 0.012 : 0;
  const batch = settings.max_running_requests ? 0.17 : settings.max_batched_tokens ? 0.06 : 0;
  const gain = shape === 'keep_baseline' ? -Math.abs(quantization + batch) / 2 : quantization + batch;
  return 1 + gain * gentle + attention;
}

const baseThroughput: Record<string, number> = { chat: 6595.66, 'short-prompts': 5796.73, 'long-prompts': 9218.03 };

export function distribution(meanS: number, spread: number, n: number): Distribution {
  return {
    n,
    mean: meanS,
    median: meanS * (1 - spread / 4),
    sd: meanS * spread,
    min: meanS * (1 - spread / 2),
    max: meanS * (1 + 3 * spread),
    percentiles: { '99': meanS * (1 + 2 * spread) },
  };
}

function summaryOf(study: StudySpec, name: string, totalTokenThroughput: number, warnings: string[]): Summary {
  const workload = study.workloads.find((w) => w.name === name) ?? study.workloads[0];
  if (!workload) throw new Error('no workload');
  const n = workload.num_prompts;
  const inputTokens = n * workload.random_input_len;
  const outputTokens = n * workload.random_output_len;
  const durationS = (inputTokens + outputTokens) / totalTokenThroughput;
  return {
    asked: n,
    ok: n,
    failed: 0,
    notSent: 0,
    outcomes: { ok: n },
    errors: [],
    durationS,
    inputTokens,
    inputTokensByClient: inputTokens,
    outputTokens,
    outputTokensAsked: outputTokens,
    requestThroughput: n / durationS,
    outputThroughput: outputTokens / durationS,
    totalTokenThroughput,
    peakOutputThroughput: (outputTokens / durationS) * 1.6,
    peakConcurrency: workload.max_concurrency ?? n,
    latencies: {
      ttft: distribution(durationS * 0.3, 0.4, n),
      tpot: distribution(1500 / totalTokenThroughput, 0.6, n),
      itl: distribution(600 / totalTokenThroughput, 0.9, outputTokens),
      e2el: distribution(durationS * 0.7, 0.3, n),
    },
    warnings,
  };
}

/** Runs the study's own plan over made-up measurements, so its trials are those that a real run would have. */
export function exampleRun(shape: Shape, options: FixtureOptions = {}): RunData {
  const study = exampleStudy(shape);
  const space: SearchSpace = {
    baseline,
    stages: study.stages.map((stage) => ({
      name: stage.name,
      alternatives: stage.alternatives.map((settings) => ({ settings: settings as Record<string, string | number> })),
    })),
  };
  const most = { none: 0, one: 1, unfinished: 6 }[shape as string] ?? 100;
  const trials = measure(study, space, shape, most, options);
  return {
    study,
    space,
    machine: {
      os: 'Linux 6.8.0 x86_64',
      cpu: 'AMD EPYC 9554 64-Core Processor',
      cores: 64,
      memoryBytes: 512 * 2 ** 30,
      gpus: ['NVIDIA H100 80GB HBM3, 81559 MiB, driver 570.86'],
      node: 'v20.20.2',
    },
    ...(shape === 'none' ? {} : { weights: exampleWeights }),
    servetuneVersion: '0.1.0',
    trials,
    beganAt: '2026-08-27T08:00:00.000Z',
    ...(shape === 'unfinished' || shape === 'one' || shape === 'none'
      ? {}
      : { endedAt: new Date(Date.parse('2026-08-27T08:00:00.000Z') + trials.length * 241_000).toISOString() }),
    simulated: options.simulated ?? false,
  };
}

function measure(
  study: StudySpec,
  space: SearchSpace,
  shape: Shape,
  most: number,
  options: FixtureOptions,
): FinishedTrial[] {
  const trials: FinishedTrial[] = [];
  let state = 12345;
  const noise = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return 1 + (state / 2147483648 - 0.5) * 0.03;
  };
  for (let start = 1; trials.length < most; start++) {
    const context = { study, space, budgetSpent: false } as Parameters<typeof nextProposals>[1];
    const [proposal] = nextProposals(staged, context, trials, [], 1);
    if (!proposal) break;
    for (const { workload, purpose } of proposal.measure) {
      if (trials.length >= most) break;
      trials.push(
        trialOf(study, proposal, { workload, purpose, id: trials.length + 1, start, shape, noise: noise() }, options),
      );
    }
  }
  return trials;
}

interface Slot {
  readonly workload: string;
  readonly purpose: FinishedTrial['purpose'];
  readonly id: number;
  readonly start: number;
  readonly shape: Shape;
  readonly noise: number;
}

function trialOf(study: StudySpec, proposal: Proposal, slot: Slot, { planted = '' }: FixtureOptions): FinishedTrial {
  const { configuration, stage, reason } = proposal;
  const { workload, purpose, id, start, shape, noise } = slot;
  const beganAt = new Date(Date.parse('2026-08-27T08:00:00.000Z') + (id - 1) * 240_000).toISOString();
  const faster = speed(configuration, shape, workload);
  const flags = Object.entries(configuration.settings).flatMap(([name, value]) =>
    name === 'quantization' ? [] : [`--${name.replaceAll('_', '-')}`, String(value)],
  );
  const sent = study.workloads.find((w) => w.name === workload);
  const quantized = configuration.settings.quantization;
  const common = {
    configuration,
    workload,
    purpose,
    ...(stage === undefined ? {} : { stage }),
    reason,
    id,
    engineStart: start,
    beganAt,
    servingCommand: [
      ...['vllm', 'serve', quantized ? `${model}-${String(quantized).toUpperCase()}` : model, ...flags],
      ...(planted ? ['--api-key', planted, '--download-dir', `/home/carol-smith/models/${planted}`] : []),
    ],
    loadCommand: [
      ...['servetune', 'bench', 'serve', '--model', model, '--backend', 'openai-chat'],
      ...['--endpoint', '/v1/chat/completions', '--dataset-name', 'random', '--seed', '42'],
      ...['--random-input-len', String(sent?.random_input_len), '--random-output-len', String(sent?.random_output_len)],
      ...['--num-prompts', String(sent?.num_prompts)],
      ...(planted ? ['--header', `Authorization=Bearer ${planted}`] : []),
    ],
    endedAt: new Date(Date.parse(beganAt) + 200_000).toISOString(),
  };
  if (faster === null) {
    return {
      ...common,
      fate: 'out_of_memory',
      failure: {
        message: `CUDA out of memory. Tried to allocate 2.00 GiB${planted ? ` for ${planted}` : ''}`,
        hint: 'lower gpu_memory_fraction, max_running_requests or max_batched_tokens, or raise tensor_parallel',
        ...(quantized ? { changed: [{ name: 'quantization', from: null, to: quantized }] } : {}),
        fragment: ['INFO loading', `ERROR torch.OutOfMemoryError: CUDA out of memory ${planted}`],
        logTail: [
          'INFO 08-27 08:14:11 [gpu_model_runner.py:2602] Starting to load model Qwen/Qwen3-14B-AWQ...',
          '<script>alert("log")</script> ```not a fence``` | not a cell | </pre></details>',
          `ERROR torch.OutOfMemoryError: CUDA out of memory ${planted ? `api_key='${planted}'` : ''}`,
          ...(planted
            ? [`  File "/home/carol-smith/venv/lib/python3.12/site-packages/vllm/engine.py" on gpu-node-17`]
            : []),
        ],
      },
      times: { startS: 12.2 },
    };
  }
  const throughput = (baseThroughput[workload] ?? 1000) * faster * noise;
  const summary = summaryOf(study, workload, throughput, planted ? [`Sent with ${planted}.`] : []);
  return {
    ...common,
    fate: 'measured',
    summary,
    client: client(id, study, workload),
    effectiveSettings: {
      max_model_len: '40960',
      gpu_memory_utilization: '0.9',
      ...(planted ? { api_key: planted } : {}),
    },
    times: {
      startS: 61.4 + id,
      parts: { starting: 7.2, loading: 21.3, compiling: id === 1 ? 19.4 : 2.1, capturing: 6, 'first token': 1.5 },
      compileCache: id === 1 ? 'cold' : 'warm',
      warmupS: 4.1,
      loadS: summary.durationS,
    },
    ...exampleTelemetry(throughput),
    ...(purpose === 'confirmation'
      ? { stress: { requests: 300, promptTokens: 512, outputTokens: 256, durationS: 31.4, failed: 0 } }
      : {}),
    endedAt: new Date(Date.parse(beganAt) + 200_000).toISOString(),
  };
}

const client = (id: number, study: StudySpec, workload: string): ClientHealth => ({
  loopDelayP99S: 0.0012 + id * 1e-5,
  loopDelayMaxS: 0.0101 + id * 1e-4,
  cpuShare: 0.21 + id * 0.002,
  sendLagP50S: 0.0001,
  sendLagP99S: 0.0009,
  sendLagMaxS: 0.004,
  concurrencyAsked: study.workloads.find((w) => w.name === workload)?.max_concurrency ?? null,
  concurrencyReached: 128,
  socketsOpened: 128,
  verdict: 'ok',
});
