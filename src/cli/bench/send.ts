import { endpointNamed } from '../../endpoints/table.ts';
import { defaultCacheDir } from '../../kit/cache-dir.ts';
import { now } from '../../kit/clock.ts';
import { pythonBelow, pythonTwister } from '../../kit/mersenne-twister.ts';
import type { RequestSpec } from '../../records/request.ts';
import { checkFit, overlong, templateTokens } from '../../study/fit.ts';
import { PromptPool } from '../../study/prompts.ts';
import type { FoundServer, SimulatedServer } from '../../study/target.ts';
import { runWorkload, studyPercentiles, type WorkloadRun } from '../../study/workload.ts';
import { chooseTokenizer } from '../../tokenizers/choose.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Terminal } from '../terminal.ts';
import { recordsPath } from './files.ts';
import type { BenchPlan } from './plan.ts';
import { startProfile, stopProfile } from './profile.ts';
import { benchProgress } from './progress.ts';
import { type Access, accessOf, checkAnswer, reachServer } from './reach.ts';

export interface SentBench {
  readonly run: WorkloadRun;
  /** The name that was sent. */
  readonly model: string;
  /** What the model is called besides: `--model`, else what the server loaded. Names the saved result. */
  readonly modelId: string;
  /** What the tokenizer was to be read from; null where there was none. */
  readonly tokenizerId: string | null;
  /** The server says that it simulates an engine; null of all others. */
  readonly simulated: SimulatedServer | null;
  /** What the user was told on the way, a sentence each. */
  readonly notes: readonly string[];
}

/** Finds the server, makes the prompts, checks that they fit, and sends the load. */
export async function sendBench(plan: BenchPlan, terminal: Terminal): Promise<SentBench> {
  const { signal, environment } = terminal;
  const { workload, server, request, result } = plan;
  // Everything that speaks TLS here reads this, the model list included.
  if (server.insecure) process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const progress = benchProgress(terminal, { quiet: result.quiet, minDurationS: workload.min_duration_s });
  const notes: string[] = [];
  const note = (text: string): void => {
    notes.push(text);
    terminal.note(text);
  };
  const access = accessOf(plan, environment.OPENAI_API_KEY);
  const waiting = { deadlineS: now() + server.readyCheckTimeoutS, signal, show: progress.show };

  const found = await reachServer(plan, access, waiting);
  found.notes.map(note);
  const modelId = server.model ?? found.root ?? found.model;
  const tokenizer = await tokenizerOf(plan, access, found, terminal, note);
  const target = { ...access, model: found.model, ...(server.path === undefined ? {} : { path: server.path }) };
  const records = recordsPath(plan, modelId);
  let profiling = false;
  try {
    const run = await runWorkload(target, {
      workload,
      pool: new PromptPool(workload, defaultCacheDir(environment)),
      tokenizer,
      warmups: plan.warmups,
      client: plan.client,
      percentiles: [...new Set([...studyPercentiles, ...result.percentiles])],
      signal,
      more: {
        requestIdPrefix: request.requestIdPrefix,
        keepText: result.detailed,
        ...(request.extraBody === undefined ? {} : { extraBody: request.extraBody }),
        ...(request.logprobs === undefined ? {} : { logprobs: request.logprobs }),
      },
      ...(result.goodputLimitsMs === undefined ? {} : { goodput: result.goodputLimitsMs }),
      ...(records === undefined ? {} : { recordsPath: records }),
      onPhase: progress.show,
      assign: (requests) => withAdapters(requests, plan),
      async beforeSending(requests) {
        await checkLengths(plan, requests, { ...access, ...found }, tokenizer, signal, note);
        const [first] = requests;
        if (server.readyCheckTimeoutS > 0 && first) await checkAnswer(plan, target, first, waiting);
      },
      async beforeMeasuring() {
        if (server.profile) profiling = await startProfile(plan, access, signal, note);
      },
    });
    const tokenizerId = tokenizer && (server.tokenizer ?? modelId);
    return { run, model: found.model, modelId, tokenizerId, simulated: found.simulated ?? null, notes };
  } finally {
    if (profiling) await stopProfile(access, signal, note);
    progress.end();
    await tokenizer?.close?.();
  }
}

/** The tokenizer that was named, else the model's own under whatever name it lies here, else what can be had. */
async function tokenizerOf(
  { server }: BenchPlan,
  { baseUrl, headers }: Access,
  found: FoundServer,
  { environment: env, signal }: Terminal,
  note: (text: string) => void,
): Promise<Tokenizer | null> {
  if (server.tokenizer === null) return null;
  if (server.tokenizer === undefined) {
    for (const model of [server.model, found.root]) {
      if (model === undefined || model === found.model) continue;
      const own = await chooseTokenizer({ model, env, signal });
      if (own.note === undefined) return own.tokenizer;
    }
  }
  const chosen = await chooseTokenizer({ baseUrl, headers, model: found.model, env, signal, path: server.tokenizer });
  if (chosen.note !== undefined) note(chosen.note);
  return chosen.tokenizer;
}

/** Each request with the LoRA adapter that it asks for. */
function withAdapters(requests: readonly RequestSpec[], { request, workload }: BenchPlan): readonly RequestSpec[] {
  const { lora } = request;
  if (!lora) return requests;
  const { modules, assignment } = lora;
  const generator = pythonTwister(workload.seed);
  return requests.map((spec, i) => {
    const model = modules[assignment === 'random' ? pythonBelow(generator, modules.length) : i % modules.length];
    return model === undefined ? spec : { ...spec, model };
  });
}

/** vLLM sends what does not fit and lets it fail; its modes do the same, and say so. */
async function checkLengths(
  { workload, compat }: BenchPlan,
  requests: readonly RequestSpec[],
  server: Access & FoundServer,
  tokenizer: Tokenizer | null,
  signal: AbortSignal,
  note: (text: string) => void,
): Promise<void> {
  const { maxModelLen } = server;
  if (maxModelLen === undefined) return;
  const endpoint = endpointNamed(workload.backend);
  const addedTokens = await templateTokens(endpoint, server, tokenizer, signal);
  const room = { maxModelLen, addedTokens, generates: endpoint.generates };
  if (compat === 'servetune') checkFit(requests, room);
  const problem = overlong(requests, room);
  if (problem) note(`warning: ${problem.message}; ${problem.hint}`);
}
