import { InputError, type Problem } from '../kit/errors.ts';
import { type ImportedFigures, type ImportedResult, type ImportedWorkload, nothingTold } from '../records/imported.ts';
import type { Importer, ImportFile } from './importer.ts';
import { type Latencies, latencyRow } from './latency-row.ts';
import { findBlocks, hasBlock, linesOf, type PrintedBlock, type PrintedRow } from './printed-block.ts';
import { printedQuantity } from './quantity.ts';
import { type Surroundings, surroundingsOf } from './surroundings.ts';

const name = 'vllm-block';

/** The result block that `vllm bench serve` prints, alone or many of them in a document or a log. */
export const vllmBlock: Importer = {
  name,
  description: 'what vllm bench serve prints (“Serving Benchmark Result”), also many of them in a document or a log',
  recognises: hasBlock,
  read(text, file) {
    const lines = linesOf(text);
    const blocks = findBlocks(lines);
    if (blocks.length === 0) {
      throw new InputError([
        {
          place: file.path,
          message: 'holds no result block',
          hint: 'a block begins with “============ Serving Benchmark Result ============”',
        },
      ]);
    }
    const around = surroundingsOf(lines, blocks);
    const problems: Problem[] = [];
    const results = blocks.map((block, i) => resultOf(block, around[i] as Surroundings, file, problems));
    if (problems.length > 0) throw new InputError(problems);
    return results;
  },
};

/** Label in lower case, without its unit. `Total Token throughput` lost its capital on the way. */
const figureRows: Readonly<Record<string, keyof ImportedFigures>> = {
  'successful requests': 'completed',
  'failed requests': 'failed',
  'benchmark duration (s)': 'durationS',
  'total input tokens': 'inputTokens',
  'total generated tokens': 'outputTokens',
  'request throughput (req/s)': 'requestThroughput',
  'request goodput (req/s)': 'requestGoodput',
  'output token throughput (tok/s)': 'outputThroughput',
  'peak output token throughput (tok/s)': 'peakOutputThroughput',
  'peak concurrent requests': 'peakConcurrency',
  'total token throughput (tok/s)': 'totalTokenThroughput',
};
const workloadRows = {
  'maximum request concurrency': 'maxConcurrency',
  'request rate configured (rps)': 'requestRate',
} as const;

function resultOf(
  block: PrintedBlock,
  { label, load, serving, options }: Surroundings,
  file: ImportFile,
  problems: Problem[],
): ImportedResult {
  const figures = { ...nothingTold.figures };
  const workload = toldFirst(options?.workload ?? nothingTold.workload, load?.workload ?? nothingTold.workload);
  const latencies: Latencies = {};
  const extra: ImportedResult['extra'] = block.simulated ? { simulated: true } : {};
  const remarks = block.simulated ? ['The block says SIMULATED: no engine ran.'] : [];
  const seen = new Set<string>();

  const number = ({ line, label: said, value }: PrintedRow, exponent = 0): number | null => {
    const read = printedQuantity(value, exponent);
    if ('value' in read) return read.value;
    const hint = 'write it as 8403.97 or 8,403.97, or N/A where it was not measured';
    problems.push({ place: `${file.path}:${line}`, message: `${said}: ${read.wrong}`, hint });
    return null;
  };

  for (const row of block.rows) {
    const key = row.label.toLowerCase().replace(/\s+/g, ' ');
    const once = row.section === null ? key : `${row.section}: ${key}`;
    if (seen.has(once)) {
      remarks.push(`“${row.label}” is there twice; the first is taken.`);
      continue;
    }
    seen.add(once);
    const figure = figureRows[key];
    const fact = workloadRows[key as keyof typeof workloadRows];
    const latency = latencyRow(row.label);
    if (figure !== undefined) figures[figure] = number(row);
    else if (fact !== undefined) workload[fact] = number(row);
    else if (latency) latency.put(latencies, number(row, latency.exponent));
    else extra[row.label] = extraValue(row.value);
  }
  if (!block.closed) remarks.push('The block has no closing line: what stood at its end may be missing.');

  return {
    schema: 1,
    source: {
      file: file.name,
      line: block.line,
      column: block.column,
      sha256: file.sha256,
      format: name,
      version: versionOf(block.rows),
    },
    label,
    model: options?.model ?? load?.model ?? serving?.model ?? null,
    backend: options?.backend ?? load?.backend ?? null,
    command: load?.command ?? null,
    servingCommand: serving?.command ?? null,
    workload,
    figures,
    latencies,
    extra,
    remarks,
  };
}

/** What was effective, as vLLM printed it, before what the command asked for. */
function toldFirst(effective: ImportedWorkload, asked: ImportedWorkload): ImportedWorkload {
  const told = Object.entries(effective).filter(([, value]) => value !== null);
  return { ...asked, ...Object.fromEntries(told) };
}

const extraValue = (text: string): string | number | null => {
  const read = printedQuantity(text);
  return 'value' in read ? read.value : text;
};

/** Failed requests came after v0.11.0, the peaks in September 2025 with it. */
function versionOf(rows: readonly PrintedRow[]): string {
  const has = (label: string): boolean => rows.some((row) => row.label === label);
  if (has('Total token throughput (tok/s)')) return 'vllm-2026-like';
  if (!has('Total Token throughput (tok/s)')) return 'unknown';
  if (has('Failed requests')) return 'vllm-0.12-like';
  return has('Peak output token throughput (tok/s)') ? 'vllm-0.11-like' : 'vllm-before-0.11-like';
}
