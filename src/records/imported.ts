import { z } from 'zod';

const number = z.number().nullable();
const text = z.string().nullable();

/** A latency metric as a foreign tool reduced it, in seconds. */
export const importedLatency = z.object({
  mean: number,
  median: number,
  sd: number,
  /** By percentile, as named there: `{"99": 0.31, "99.9": 0.4}`. */
  percentiles: z.record(z.string(), number),
});
export type ImportedLatency = z.infer<typeof importedLatency>;

/** Totals and throughputs as told; a throughput is a second. */
export const importedFigures = z.object({
  completed: number,
  failed: number,
  durationS: number,
  inputTokens: number,
  outputTokens: number,
  /** Requests a second. */
  requestThroughput: number,
  /** Requests a second that met the limits which the tool was given. */
  requestGoodput: number,
  outputThroughput: number,
  totalTokenThroughput: number,
  peakOutputThroughput: number,
  peakConcurrency: number,
});
export type ImportedFigures = z.infer<typeof importedFigures>;

/** What was sent, as far as it was told. */
export const importedWorkload = z.object({
  numPrompts: number,
  /** Requests a second; `inf` sends as soon as the concurrency limit allows. */
  requestRate: z.union([z.number(), z.literal('inf')]).nullable(),
  maxConcurrency: number,
  dataset: text,
  /** Tokens of a prompt and of an answer as asked for, not as they came. */
  inputLen: number,
  outputLen: number,
});
export type ImportedWorkload = z.infer<typeof importedWorkload>;

/**
 * A result that another tool measured, as that tool told it: what was not told is null, nothing is computed. Written by
 * the readers in `importers/`.
 */
export const importedResult = z.object({
  /** Version of this record. */
  schema: z.literal(1),
  source: z.object({
    /** The file as it was named on the command line; without its folders where that was an absolute path. */
    file: z.string(),
    /** Where the result begins, both from 1. */
    line: z.int().min(1),
    column: z.int().min(1),
    /** Of the file's bytes, hexadecimal. */
    sha256: z.string(),
    /** Name of the reader in `importers/table.ts`. */
    format: z.string(),
    /** Which version of the tool writes such a result, guessed from its shape: `vllm-0.11-like`. */
    version: z.string(),
  }),
  /** Headings, captions and the comment above it in a document, outermost first; or the label that the tool was given. */
  label: text,
  model: text,
  backend: text,
  /** The load command that stands above it, without secrets. */
  command: text,
  /** The command that started the server, without secrets. */
  servingCommand: text,
  workload: importedWorkload,
  figures: importedFigures,
  /** By the name of a metric in `metrics/table.ts` where there is one: `ttft`, `tpot`, `itl`, `e2el`, ... */
  latencies: z.record(z.string(), importedLatency),
  /** What the reader has no field for, by the name that it has there. */
  extra: z.record(z.string(), z.json()),
  /** What a reader of the numbers should know about how they were read, each a sentence. */
  remarks: z.array(z.string()),
});
export type ImportedResult = z.infer<typeof importedResult>;

/** An imported result and why its numbers must not be believed, each reason a sentence; none when they may be. */
export const judgedImport = importedResult.extend({ problems: z.array(z.string()) });
export type JudgedImport = z.infer<typeof judgedImport>;

/** What is told of a result before anything was read. */
export const nothingTold: Pick<
  ImportedResult,
  'label' | 'model' | 'backend' | 'command' | 'servingCommand' | 'workload' | 'figures'
> = {
  label: null,
  model: null,
  backend: null,
  command: null,
  servingCommand: null,
  workload: {
    numPrompts: null,
    requestRate: null,
    maxConcurrency: null,
    dataset: null,
    inputLen: null,
    outputLen: null,
  },
  figures: {
    completed: null,
    failed: null,
    durationS: null,
    inputTokens: null,
    outputTokens: null,
    requestThroughput: null,
    requestGoodput: null,
    outputThroughput: null,
    totalTokenThroughput: null,
    peakOutputThroughput: null,
    peakConcurrency: null,
  },
};

/** Requests that the run called for: as it was told, else those that ended one way or the other; null where neither is. */
export function askedOf({ figures, workload }: Pick<ImportedResult, 'figures' | 'workload'>): number | null {
  const { completed, failed } = figures;
  return workload.numPrompts ?? (completed === null || failed === null ? null : completed + failed);
}
