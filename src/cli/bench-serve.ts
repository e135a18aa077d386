import { defaultCacheDir } from '../kit/cache-dir.ts';
import { exitCodes } from '../kit/errors.ts';
import { isBurst } from '../load/arrivals.ts';
import { failureHints } from '../load/hints.ts';
import { checkOpenFiles } from '../load/preflight.ts';
import { resultBlock } from '../metrics/result-block.ts';
import type { RunFacts } from '../metrics/run-facts.ts';
import { savedSummary } from '../metrics/saved.ts';
import { vllmBlock, vllmPreface } from '../metrics/vllm/block.ts';
import { observeAll, vllmKind } from '../metrics/vllm/observe.ts';
import { type VllmResult, vllmResult } from '../metrics/vllm/result.ts';
import { savedResult } from '../metrics/vllm/saved.ts';
import { belowCeiling } from '../study/kept-ceiling.ts';
import type { SimulatedServer } from '../study/target.ts';
import { arrivalsOf, type WorkloadRun } from '../study/workload.ts';
import { benchProblems } from './bench/conflicts.ts';
import { prepareResult, writeResult, writeSummary } from './bench/files.ts';
import { benchServeGroups, benchServeOptions } from './bench/options.ts';
import type { BenchPlan } from './bench/plan.ts';
import { rateChanges } from './bench/ramp.ts';
import { resolveBench } from './bench/resolve.ts';
import { type SentBench, sendBench } from './bench/send.ts';
import { defineCommand } from './command.ts';

export default defineCommand({
  name: 'bench serve',
  about: [
    'Sends a workload to a server that runs already and prints the result block of `vllm bench serve`, whose flags,',
    'prompts, files and defaults it has. A request counts only with at least one token and a terminal signal; input tokens',
    'are the server’s own count where it sends one; docs/metrics.md states every formula and every deviation from vLLM.',
    'Ends with 3 when the numbers must not be believed (failures, output length not pinned, slow client); with --compat',
    'vllm-0.11.0 and its like it measures, prints and exits as that version does, faults included.',
    'OPENAI_API_KEY in the environment is sent as a bearer token.',
  ].join('\n'),
  options: benchServeOptions,
  groups: benchServeGroups,
  check: benchProblems,
  examples: [
    [
      'servetune bench serve --port 8000 --random-input-len 2000 --random-output-len 100 --num-prompts 500 --seed 42',
      '500 random prompts, all at once',
    ],
    [
      'servetune bench serve --backend openai-chat --dataset-name sharegpt --max-concurrency 64 --num-warmups 64',
      'conversations, at most 64 in flight',
    ],
    [
      'servetune bench serve --request-rate 8 --goodput ttft:500 tpot:40 --save-result --result-dir results',
      'eight requests a second, judged by limits, kept as JSON',
    ],
  ],

  async run(given, terminal) {
    const plan = resolveBench(given, new Date());
    for (const note of plan.notes) terminal.note(note);
    checkConnections(plan);
    prepareResult(plan);
    const sent = await sendBench(plan, terminal);
    const { run, model, simulated } = sent;
    const facts = runFacts(plan, sent);
    const asVllm = plan.compat === 'servetune' ? undefined : vllmView(plan, run, sent.tokenizerId !== null);
    if (simulated) (asVllm ? terminal.note : terminal.print)(simulatedLine(simulated));
    show(plan, sent, asVllm, terminal.print);

    const { summary, problems } = run;
    const client = belowCeiling(run.client, summary, defaultCacheDir(terminal.environment));
    for (const warning of summary.warnings) terminal.note(`warning: ${warning}`);
    for (const { text, count } of summary.errors) terminal.note(`${count} x ${text}`);
    for (const hint of failureHints(run.records)) terminal.note(`hint: ${hint}`);
    const saved = asVllm
      ? savedResult(asVllm, { run: facts, detailed: plan.result.detailed })
      : savedSummary(summary, {
          run: facts,
          percentileMetrics: plan.result.percentileMetrics,
          percentiles: plan.result.percentiles,
          client,
          problems,
          notes: [...plan.notes, ...sent.notes],
          ...(plan.result.detailed ? { records: run.records } : {}),
        });
    const said = simulated ? { simulated: true, simulated_time_scale: simulated.timeScale } : {};
    const path = writeResult(plan, { ...saved, ...said, model_id: facts.modelId, date: facts.date });
    if (path !== null) terminal.note(`result saved to ${path}`);
    const { promptsHash: promptsSha256 } = run;
    writeSummary(plan, { ...said, model, workload: plan.workload, promptsSha256, summary, client, problems });
    terminal.signal.throwIfAborted();
    for (const problem of problems) terminal.note(`invalid measurement: ${problem}`);
    // vLLM's client ends well whatever came of the requests.
    return problems.length > 0 && plan.compat === 'servetune' ? exitCodes.invalidMeasurement : exitCodes.done;
  },
});

/** Stands above the result block, which in the modes of vLLM keeps its bytes. */
const simulatedLine = ({ timeScale }: SimulatedServer): string =>
  'simulated: the server is servetune sim serve; these figures are predicted, no engine was measured' +
  (timeScale === 1 ? '' : `; its time passes ${timeScale} x as fast, and times and rates are those of the clock here`);

/** Finds out before anything else whether as many connections can be had as the load needs at once. */
function checkConnections({ workload }: BenchPlan): void {
  const { max_concurrency: limit = Number.POSITIVE_INFINITY, num_prompts, min_duration_s } = workload;
  const atOnce = min_duration_s > 0 ? limit : Math.min(limit, num_prompts);
  // At a rate it is for the server to say how many requests there are at once.
  if (Number.isFinite(limit) || isBurst(arrivalsOf(workload))) checkOpenFiles(atOnce);
}

/** What that version of vLLM would have made of the same load. */
function vllmView(plan: BenchPlan, run: WorkloadRun, hasTokenizer: boolean): VllmResult {
  const { compat, workload, result } = plan;
  if (compat === 'servetune') throw new Error('servetune is no version of vLLM');
  const kind = vllmKind(workload.backend);
  return vllmResult(observeAll([...run.records], { kind, version: compat }), {
    version: compat,
    durationS: run.summary.durationS,
    percentileMetrics: result.percentileMetrics,
    percentiles: result.percentiles,
    goodput: result.goodputLimitsMs,
    pooling: kind === 'pooling',
    ...(hasTokenizer ? {} : { countTokens: null }),
  });
}

/** The result block: servetune's, or that version's of vLLM. */
function show(
  plan: BenchPlan,
  { run, simulated }: Pick<SentBench, 'run' | 'simulated'>,
  asVllm: VllmResult | undefined,
  print: (text: string) => void,
): void {
  const { max_concurrency: maxConcurrency, request_rate } = plan.workload;
  const requestRate = request_rate === 'inf' ? undefined : request_rate;
  if (asVllm) {
    for (const line of vllmPreface(asVllm)) print(line);
    print(vllmBlock(asVllm, { maxConcurrency, requestRate }));
    return;
  }
  const { percentileMetrics, percentiles } = plan.result;
  print(
    resultBlock(run.summary, {
      maxConcurrency,
      requestRate,
      percentileMetrics,
      percentiles,
      simulated: simulated !== null,
    }),
  );
}

/** What a saved result says of the run besides its figures. */
function runFacts(plan: BenchPlan, { run, modelId, tokenizerId }: SentBench): RunFacts {
  const { workload, result } = plan;
  const arrivals = arrivalsOf(workload);
  const { requestRate, burstiness, rampUp } = arrivals;
  const began = { beganAt: run.beganAt, durationS: run.load.durationS };
  return {
    date: plan.date,
    backend: workload.backend,
    label: result.label ?? null,
    modelId,
    tokenizerId,
    numPrompts: workload.num_prompts,
    metadata: Object.fromEntries(result.metadata),
    requestRate,
    burstiness,
    maxConcurrency: workload.max_concurrency ?? null,
    ...(rampUp ? { rampUp: { ...rampUp, changes: rateChanges(run.load.asked, arrivals, began) } } : {}),
  };
}
