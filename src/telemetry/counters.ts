import { boundedAnswer } from '../kit/bounded-answer.ts';
import { ServetuneError } from '../kit/errors.ts';
import { type CounterName, type Counters, type CounterValues, counterNames } from '../records/counters.ts';
import { combine, type MetricSample, parsePrometheus } from './prometheus.ts';

/**
 * How what several copies of an engine report becomes one number: requests and tokens add up; a KV cache is as full as
 * the fullest, for that one preempts first; other shares are averaged.
 */
const combination = (name: CounterName): 'sum' | 'max' | 'mean' =>
  name === 'kvUseShare' ? 'max' : name === 'prefixHitShare' || name === 'acceptedShare' ? 'mean' : 'sum';

/**
 * What an engine tells now: one entry, or of TensorRT-LLM one for each iteration since it was last asked, which may be
 * none. Throws a ServetuneError `counters_not_told` when the answer is not what it should be, and what `boundedAnswer`
 * throws.
 */
export async function readCounters(
  { format, path, names }: Counters,
  baseUrl: URL,
  signal: AbortSignal,
): Promise<readonly CounterValues[]> {
  const url = new URL(path, baseUrl);
  const { status, text } = await boundedAnswer(url, signal);
  if (status !== 200) {
    throw new ServetuneError('counters_not_told', `${url} answers ${status}`, {
      hint: 'look whether this version of the engine has metrics, and whether they are switched on',
    });
  }
  return format === 'prometheus' ? [fromPrometheus(text, names)] : fromIterations(text, names, url);
}

function fromPrometheus(text: string, names: Counters['names']): CounterValues {
  const wanted = new Set(Object.values(names).flatMap((alternatives) => alternatives.flatMap(partsOf).flat()));
  const byName = new Map<string, MetricSample[]>();
  for (const sample of parsePrometheus(text, (name) => wanted.has(name))) {
    const samples = byName.get(sample.name);
    if (samples) samples.push(sample);
    else byName.set(sample.name, [sample]);
  }
  return valuesOf(names, (name, counter) => combine(byName.get(name) ?? [], combination(counter)));
}

function fromIterations(text: string, names: Counters['names'], url: URL): readonly CounterValues[] {
  let iterations: unknown;
  try {
    iterations = JSON.parse(text);
  } catch {
    // Not JSON: reported below.
  }
  if (!Array.isArray(iterations)) {
    throw new ServetuneError('counters_not_told', `${url} does not answer with a list of iterations`);
  }
  return iterations.map((iteration: unknown) => valuesOf(names, (path) => numberIn(iteration, path)));
}

function numberIn(iteration: unknown, path: string): number | undefined {
  const leaf = path
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
      iteration,
    );
  return typeof leaf === 'number' && Number.isFinite(leaf) ? leaf : undefined;
}

type Lookup = (name: string, counter: CounterName) => number | undefined;

function valuesOf(names: Counters['names'], lookup: Lookup): CounterValues {
  const values: Partial<Record<CounterName, number>> = {};
  for (const counter of counterNames) {
    for (const alternative of names[counter] ?? []) {
      const value = evaluate(alternative, (name) => lookup(name, counter));
      if (value === undefined) continue;
      values[counter] = value;
      break;
    }
  }
  return values;
}

/** `a/b+c` as its sums: `[['a'], ['b', 'c']]`. */
const partsOf = (name: string): readonly (readonly string[])[] => name.split('/').map((sum) => sum.split('+'));

/** A name, a sum, or a sum divided by another; undefined when a part is missing, or there is nothing to divide by. */
function evaluate(name: string, lookup: (name: string) => number | undefined): number | undefined {
  const [numerator, denominator] = partsOf(name).map((parts) =>
    parts.reduce<number | undefined>((sum, part) => {
      const value = lookup(part);
      return sum === undefined || value === undefined ? undefined : sum + value;
    }, 0),
  );
  if (!name.includes('/')) return numerator;
  return numerator === undefined || !denominator ? undefined : numerator / denominator;
}
