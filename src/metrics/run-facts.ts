/** What a saved result says of the run besides what was measured: the part that vLLM calls its configuration. */
export interface RunFacts {
  /** `YYYYMMDD-HHMMSS`, local time. */
  readonly date: string;
  /** `--backend`. */
  readonly backend: string;
  readonly label: string | null;
  readonly modelId: string;
  readonly tokenizerId: string | null;
  readonly numPrompts: number;
  /** `--metadata`: each becomes a key of its own. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Requests a second; infinite is written as the text `inf`. */
  readonly requestRate: number;
  readonly burstiness: number;
  /** Null is no limit. */
  readonly maxConcurrency: number | null;
  readonly rampUp?:
    | {
        readonly strategy: string;
        readonly startRps: number;
        readonly endRps: number;
        /** When the rate first reached each whole number, ISO 8601. */
        readonly changes?: readonly { readonly rps: number; readonly timestamp: string }[] | undefined;
      }
    | undefined;
}

/** The configuration part of a saved result: vLLM's keys in vLLM's order. */
export function configurationPart(run: RunFacts): Record<string, unknown> {
  const { rampUp } = run;
  return {
    date: run.date,
    endpoint_type: run.backend,
    backend: run.backend,
    label: run.label,
    model_id: run.modelId,
    tokenizer_id: run.tokenizerId,
    num_prompts: run.numPrompts,
    ...run.metadata,
    request_rate: rateOrInf(run.requestRate),
    burstiness: rateOrInf(run.burstiness),
    max_concurrency: run.maxConcurrency,
    ...(rampUp === undefined
      ? {}
      : {
          ramp_up_strategy: rampUp.strategy,
          ramp_up_start_rps: rampUp.startRps,
          ramp_up_end_rps: rampUp.endRps,
        }),
  };
}

const rateOrInf = (value: number): number | string => (value === Number.POSITIVE_INFINITY ? 'inf' : value);

/** The same value with null in place of every number that JSON has no word for (Python writes NaN and Infinity bare). */
export function strictJson(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return value.map(strictJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, strictJson(part)]));
}
