/** One line of Prometheus' text format. */
export interface MetricSample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const nameAt = /[A-Za-z_:][\w:]*/y;
const labelAt = /[\s,]*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"/y;
const labelsEndAt = /[\s,]*\}/y;
const valueAt = /\s+(\S+)/y;

/**
 * The plain numbers in Prometheus' text format 0.0.4, and in OpenMetrics as far as engines use it: gauges, counters, sums
 * and counts. The buckets of histograms and the quantiles of summaries are left out, and so are comments, time stamps,
 * exemplars, and a line that does not follow the format.
 *
 * @param wanted which names are worth reading; absent: all
 */
export function parsePrometheus(text: string, wanted: (name: string) => boolean = () => true): MetricSample[] {
  const samples: MetricSample[] = [];
  for (const line of text.split('\n')) {
    const name = match(nameAt, line, 0)?.[0];
    if (name === undefined || !wanted(name)) continue;
    const sample = readSample(line, name);
    if (sample && !sample.labels.has('le') && !sample.labels.has('quantile')) samples.push(sample);
  }
  return samples;
}

function readSample(line: string, name: string): MetricSample | undefined {
  const labels = new Map<string, string>();
  let at = name.length;
  if (line[at] === '{') {
    at++;
    for (let label = match(labelAt, line, at); label; label = match(labelAt, line, at)) {
      labels.set(label[1] as string, unescapeLabel(label[2] as string));
      at += label[0].length;
    }
    const end = match(labelsEndAt, line, at);
    if (!end) return undefined;
    at += end[0].length;
  }
  const value = numberOf(match(valueAt, line, at)?.[1]);
  return value === undefined ? undefined : { name, labels, value };
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const unescapeLabel = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));

const infinities: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Inf: Number.POSITIVE_INFINITY,
  '+Inf': Number.POSITIVE_INFINITY,
  '-Inf': Number.NEGATIVE_INFINITY,
};

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  return infinities[text];
}

/**
 * One number for all samples of a name.
 *
 * A label that only numbers the parts which serve the same requests together (SGLang's tensor, pipeline and expert
 * ranks, each of which can report them) does not tell apart: of those the highest counts. What is left is told apart
 * by copies of the engine, models or kinds, and is put together as the caller says.
 */
export function combine(samples: readonly MetricSample[], how: 'sum' | 'max' | 'mean'): number | undefined {
  // With priority scheduling SGLang reports the total under an empty priority, and its parts beside it.
  const totals = samples.filter(({ labels }) => labels.get('priority') === '');
  const groups = new Map<string, number>();
  for (const { labels, value } of totals.length > 0 ? totals : samples) {
    if (!Number.isFinite(value)) continue;
    const key = JSON.stringify([...labels].filter(([label]) => !shardLabels.has(label)).sort());
    groups.set(key, Math.max(value, groups.get(key) ?? Number.NEGATIVE_INFINITY));
  }
  if (groups.size === 0) return undefined;
  const values = [...groups.values()];
  if (how === 'max') return values.reduce((a, b) => Math.max(a, b));
  const sum = values.reduce((a, b) => a + b, 0);
  return how === 'sum' ? sum : sum / values.length;
}

const shardLabels: ReadonlySet<string> = new Set(['tp_rank', 'pp_rank', 'moe_ep_rank', 'pid']);
