import { mean } from '../kit/numbers.ts';
import type { CounterName, CounterScrape, Counters, CounterValues } from '../records/counters.ts';
import type { CounterSummary } from '../records/telemetry.ts';
import type { Window } from './gpu-summary.ts';

/**
 * What an engine told in a stretch of time.
 *
 * Gauges (running, waiting, KV use) are of the scrapes inside: the mean of the scrapes, each the mean of what it
 * brought, and the highest of all. Counters count from the last scrape before to the first one after, so that nothing
 * at the edges is lost; a counter that is not there at first and then is has begun at 0, as labelled Prometheus
 * counters do. A rate is the quotient of two such differences; where an engine tells only the share, its mean.
 *
 * TensorRT-LLM counts the blocks of its prefix cache from its start, but drafts and pauses by iteration: those are
 * added up.
 */
export function counterSummary(
  scrapes: readonly CounterScrape[],
  { fromS, toS }: Window,
  format: Counters['format'],
): CounterSummary {
  const inside = scrapes.filter(({ askedAtS, atS }) => askedAtS >= fromS && atS <= toS);
  const answers = inside.flatMap(({ values }) => (values === null ? [] : [values]));
  const told = scrapes.flatMap((scrape) => (scrape.values?.length ? [{ ...scrape, values: scrape.values }] : []));
  const first = told.findLastIndex(({ atS }) => atS <= fromS);
  const later = told.findIndex(({ askedAtS }) => askedAtS >= toS);
  const counted = told.slice(Math.max(0, first), later < 0 ? told.length : later + 1).map(({ values }) => values);

  // Without a scrape before, the first one inside has to do: its first entry is the baseline, and all of it counts.
  const baseline = counted.at(0)?.at(first < 0 ? 0 : -1);
  const latest = counted.at(-1)?.at(-1);
  const grown = (name: CounterName): number | null =>
    baseline === latest ? null : difference(baseline?.[name] ?? 0, latest?.[name]);
  const byIteration = counted.slice(first < 0 ? 0 : 1).flat();
  const count = format === 'prometheus' ? grown : (name: CounterName) => total(byIteration, name);
  return {
    scrapes: answers.length,
    failedScrapes: inside.length - answers.length,
    meanRunning: gaugeMean(answers, 'running'),
    peakRunning: peak(answers, 'running'),
    meanWaiting: gaugeMean(answers, 'waiting'),
    peakWaiting: peak(answers, 'waiting'),
    peakKvUseShare: peak(answers, 'kvUseShare'),
    preemptions: count('preemptions'),
    prefixHitRate: quotient(grown('prefixHits'), grown('prefixQueries')) ?? gaugeMean(answers, 'prefixHitShare'),
    draftAcceptance: quotient(count('acceptedTokens'), count('draftTokens')) ?? acceptedShare(answers),
  };
}

const allOf = (values: readonly CounterValues[], name: CounterName): readonly number[] =>
  values.flatMap((v) => v[name] ?? []);

function gaugeMean(answers: readonly (readonly CounterValues[])[], name: CounterName): number | null {
  return mean(answers.flatMap((values) => mean(allOf(values, name)) ?? []));
}

function peak(answers: readonly (readonly CounterValues[])[], name: CounterName): number | null {
  const values = allOf(answers.flat(), name);
  return values.length === 0 ? null : values.reduce((a, b) => Math.max(a, b));
}

/** Null of a counter that is not told, and of one that ran backwards: the engine was started again in between. */
const difference = (before: number, after: number | undefined): number | null =>
  after === undefined || after < before ? null : after - before;

function total(values: readonly CounterValues[], name: CounterName): number | null {
  const counts = allOf(values, name);
  return counts.length === 0 ? null : counts.reduce((a, b) => a + b, 0);
}

const quotient = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole;

/** SGLang prints a share of 0 where it drafts nothing at all, and in steps without drafts. */
function acceptedShare(answers: readonly (readonly CounterValues[])[]): number | null {
  return mean(allOf(answers.flat(), 'acceptedShare').filter((share) => share > 0));
}
