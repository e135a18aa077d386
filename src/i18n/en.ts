import { capitalised, formatNumber, plural } from '../kit/words.ts';
import { engines } from './en/engines.ts';
import { count, locale } from './en/numbers.ts';
import { quality } from './en/quality.ts';
import { setup } from './en/setup.ts';
import { stages } from './en/stages.ts';
import { trial } from './en/trial.ts';
import type { Messages } from './messages.ts';

export const en: Messages = {
  locale,
  contents: 'Contents',
  copy: 'Copy',
  copied: 'Copied',
  none: '–',
  interval: (low, high) => `${low} to ${high}`,
  notSignificant: 'no significant difference',
  unchanged: 'unchanged',
  range: (first, last) => `${first} to ${last}`,
  more: (n) => `${formatNumber(n, locale)} more`,
  simulated: {
    banner:
      'Simulated: no engine ran. Every figure in this report is predicted by a model of the engine and was not measured.',
    uncalibrated:
      'Uncalibrated: throughputs may be off by 25 % either way, latencies by more, and differences under 15 % are ties.',
    mark: 'simulated',
    moment: 'in virtual time',
  },
  metrics: {
    total_token_throughput: 'total token throughput',
    output_throughput: 'output token throughput',
    request_throughput: 'request throughput',
    mean_ttft_ms: 'mean TTFT',
    p99_ttft_ms: 'P99 TTFT',
    mean_tpot_ms: 'mean TPOT',
    p99_tpot_ms: 'P99 TPOT',
    mean_itl_ms: 'mean ITL',
    p99_itl_ms: 'P99 ITL',
    mean_e2el_ms: 'mean E2EL',
    p99_e2el_ms: 'P99 E2EL',
  },
  fates: {
    measured: 'measured',
    start_failed: 'the engine did not start',
    out_of_memory: 'out of memory',
    timed_out: 'timed out',
    crashed_under_load: 'the engine crashed under load',
    hung: 'the engine hung',
    unsupported_setting: 'unsupported setting',
    invalid_measurement: 'invalid measurement',
    cancelled: 'cancelled',
  },
  purposes: {
    baseline: 'baseline',
    stage: 'first run',
    repeat: 'repeat',
    further: 'further workload',
    baseline_again: 'baseline again',
    confirmation: 'confirmation',
  },
  columns: {
    workload: 'Workload',
    baseline: 'Baseline',
    optimized: 'Optimized',
    change: 'Change',
    interval: '95 % interval',
    configuration: 'Configuration',
    runs: 'Runs',
    trial: 'Trial',
    trials: 'Trials',
    property: 'Property',
    value: 'Value',
    totalThroughput: 'total tok/s',
    meanTpot: 'mean TPOT, ms',
  },
  conclusion: {
    titleThroughput: (model, hardware) => `Optimizing the throughput of ${model} on ${hardware}`,
    titleLatency: (model, hardware) => `Optimizing the latency of ${model} on ${hardware}`,
    subtitle: (study, moment, version) => `Study ${study}, ${moment}, servetune ${version}`,
    heading: 'Conclusion',
    unfinished: 'The study is unfinished. What follows is what its trials show so far.',
    recommended: (model, hardware) => `Recommended command to serve ${model} on ${hardware}:`,
    bestSoFar: (model, hardware) => `Best command so far to serve ${model} on ${hardware}:`,
    worse: (metric, workload, change, interval) =>
      `It won its stages, but over all runs on workload ${workload} it is worse than the baseline: ${change} ${metric} (95 % interval ${interval}). Do not adopt it without measuring again.`,
    noDifference: (metric, workload, change, interval) =>
      `It won its stages, but over all runs on workload ${workload} noise covers its difference from the baseline: ${change} ${metric} (95 % interval ${interval}).`,
    keepBaseline: 'Keep the baseline: no alternative was better than it beyond the noise.',
    nothingTried: 'Nothing was tried against the baseline.',
    noBaseline: (reason) => `The baseline does not qualify (${reason}), so there is no gain to state.`,
    unmeasured: 'Nothing can be recommended: no configuration qualified.',
    baselineFailed: (reason) => `The baseline does not qualify: ${reason}.`,
    noCommand: 'No command was recorded.',
    recommendedServer: (model, hardware) => `Recommended to serve ${model} on ${hardware}:`,
    serverAsItRuns: 'The server as it runs. It was there before, and servetune neither started nor changed it.',
    drifted: (first, last, change) =>
      `The machine drifted meanwhile: the baseline gave ${first} at first and ${last} at last (${change}), more than noise explains. Differences of that size may be drift; see Measurement quality.`,
    notConfirmed: (value, change, against) =>
      `When it was tried once more it gave ${value}, ${change} against ${against} in the runs by which it was chosen: more than noise explains.`,
    gainLabel: (metric) => `Change of ${metric}`,
    gainNote: (interval, workload) => `95 % interval ${interval}, workload ${workload}`,
    runs: (n) => (n === 1 ? '1 run' : `geometric mean of ${formatNumber(n, locale)} runs`),
    tableCaption: (metric) =>
      `Baseline and optimized configuration by workload: geometric mean over the runs of each, change of ${metric}`,
    baselineCaption: 'The baseline by workload: geometric mean over its runs',
    chartTitle: (metric) => capitalised(metric, locale),
    chartDescription: (rows) => rows.join(' '),
    chartRow: (workload, baseline, optimized, change) =>
      `${workload}: baseline ${baseline}, optimized ${optimized}${change === '' ? '' : ` (${change})`}.`,
    chartCaption: 'Whiskers show the 95 % interval of the change, drawn around the optimized value.',
    chartMark: 'n.s.',
    chartLegend: 'n.s.: no significant difference',
    notMeasured: 'not measured',
  },
  notes: {
    heading: 'What this study did not do',
    greedy: (tried, spanned) =>
      `It did not try every combination. Stages were decided one after the other, each on top of the winner so far; ${formatNumber(tried, locale)} of the ${formatNumber(spanned, locale)} configurations that the stages span were tried. The result may be a local optimum.`,
    exhaustive: (tried) =>
      `It looked no further than its stages: all ${formatNumber(tried, locale)} configurations that they span were tried, and no setting outside them.`,
    repeats: (closeCalls) =>
      `It did not repeat everything. Alternatives were measured once; those too close to call were measured again from a fresh engine start, at most ${count(closeCalls, 'time', 'times')}.`,
    repeatsAttached: (closeCalls) =>
      `It did not repeat everything. Alternatives were measured once; those too close to call were measured again, at most ${count(closeCalls, 'time', 'times')}.`,
    noRepeats: 'It did not repeat alternatives: each was measured once.',
    failed: (n) =>
      `${count(n, 'configuration', 'configurations')} could not be measured, so nothing is known of ${plural(n, locale, { one: 'its', other: 'their' })} speed.`,
    stagesNotTried: (stages) => `It did not decide every stage. Not tried: ${stages}.`,
    numberFormats: (settings) =>
      `It did not measure the quality of answers. The recommended configuration differs from the baseline in ${settings}, which can change them.`,
    deciding: (workload) =>
      `It decided the stages on workload ${workload} alone. On the others only the baseline and the winner were measured.`,
    randomPrompts:
      'It did not send real text. The prompts are random tokens; what profits from repeated or predictable text may rank differently.',
    manyIntervals:
      'It did not correct its intervals for their number: each is for one comparison, and about one in twenty misses the true value.',
    thisMachine: 'It says nothing of other hardware, other models or other versions.',
  },
  objective: {
    heading: 'Objective',
    highest: (metric, unit, workload) => `Highest ${metric} (${unit}) on workload ${workload}.`,
    lowest: (metric, unit, workload) => `Lowest ${metric} (${unit}) on workload ${workload}.`,
    constraints: 'A configuration can win only if, on that workload:',
    atMost: (metric, limit) => `${metric} is at most ${limit}`,
    atLeast: (metric, limit) => `${metric} is at least ${limit}`,
  },
  setup,
  stages,
  trial,
  items: {
    heading: 'Optimization items',
    caption: (metric, noise) =>
      `What each stage changed: ${metric}; all intervals use the noise of the whole run (${noise})`,
    stage: 'Optimization item',
    chosen: 'Chosen',
    improvement: 'Change',
    together: 'All stages together',
    legend: '– means that noise covers the difference, or that nothing better was found.',
    runs: 'A stage’s row rests on the runs that it was decided by, the last row on all runs of baseline and winner.',
    marks: { covered: '†', clear: '‡' },
    covered: (noise) =>
      `The stage was decided by the noise known then; at that of the whole run (${noise}), its difference would not be significant.`,
    clear: (noise) =>
      `The stage was decided by the noise known then; at that of the whole run (${noise}), its difference would be significant.`,
    nothing: 'The study has no stages.',
  },
  engines,
  further: {
    heading: 'Further workloads',
    introduction: 'Baseline and winner under the workloads that did not decide.',
    none: 'The study has no further workloads.',
    notMeasured: 'Not measured.',
    caption: (workload) => `Workload ${workload}: geometric mean over the runs of each side`,
    side: 'Side',
  },
  quality,
  reproduce: {
    heading: 'How to reproduce',
    serve: 'Start the recommended configuration:',
    serveBaseline: 'Or the baseline:',
    load: (workload) => `Send workload ${workload}:`,
    study: 'Or run the whole study from its file, saved as study.yaml:',
    studyFile: 'study.yaml',
    defaults: 'Keys that are left out have the defaults of this version; report.json has every one.',
    redacted:
      'Home folders would be written as ~, and keys, user and machine names removed; put your own where a command shows such a gap.',
  },
};
