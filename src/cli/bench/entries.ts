import type { Problem } from '../../kit/errors.ts';
import { type GoodputLimits, type GoodputMetric, goodputMetrics } from '../../records/summary.ts';
import { numberIn } from '../values.ts';

/** What an option's text says, and what is wrong with it. */
export interface Entries<T> {
  readonly value: T;
  readonly problems: readonly Problem[];
}

/** KEY=VALUE, blanks around both left out; a value may have further `=`. Undefined where it is none. */
function pairOf(text: string): readonly [string, string] | undefined {
  const cut = text.indexOf('=');
  const key = text.slice(0, Math.max(0, cut)).trim();
  return key === '' ? undefined : [key, text.slice(cut + 1).trim()];
}

/**
 * `--metadata`: the pairs in order. Keys may repeat; the last one counts, as in the result file.
 */
export function readMetadata(texts: readonly string[]): Entries<readonly (readonly [string, string])[]> {
  const pairs = texts.map(pairOf);
  const problems = texts.flatMap((text, i): Problem[] =>
    pairs[i]
      ? []
      : [{ place: '--metadata', message: `“${text}” is not KEY=VALUE`, hint: 'for example version=0.11.0' }],
  );
  return { value: pairs.filter((pair) => pair !== undefined), problems };
}

/**
 * `--header`: names and values. No text is repeated in a message, since headers hold keys; nor is a value that a request
 * could not carry let through, which would fail every one of them.
 */
export function readHeaders(texts: readonly string[]): Entries<Readonly<Record<string, string>>> {
  const problems: Problem[] = [];
  const headers = new Map<string, string>();
  for (const [i, text] of texts.entries()) {
    const pair = pairOf(text);
    const wrong = !pair
      ? 'is not KEY=VALUE'
      : !/^[!#$%&'*+.^_`|~\w-]+$/.test(pair[0])
        ? 'has a name with a character that no header can have'
        : !/^[\t\x20-\x7e\x80-\xff]*$/.test(pair[1])
          ? 'has a value with a character that no header can have'
          : undefined;
    if (wrong === undefined && pair) headers.set(...(pair as [string, string]));
    else problems.push({ place: `--header, value ${i + 1},`, message: `${wrong}`, hint: 'for example x-team=blue' });
  }
  return { value: Object.fromEntries(headers), problems };
}

/** `--goodput ttft:200 tpot:50`: limits in milliseconds; of a name that repeats the last one counts. */
export function readGoodput(texts: readonly string[]): Entries<GoodputLimits> {
  const limits: Partial<Record<GoodputMetric, number>> = {};
  const problems: Problem[] = [];
  const hint = 'limits in milliseconds, as ttft:200 tpot:50 e2el:1000';
  for (const text of texts) {
    const [name = '', limit = '', ...more] = text.split(':');
    const limitMs = numberIn(limit);
    const metric = goodputMetrics.find((known) => known === name.trim());
    const wrong =
      more.length > 0 || limit === ''
        ? `“${text}” is not NAME:MS`
        : metric === undefined
          ? `there is no limit on ${name.trim() || 'nothing'}; names are ${goodputMetrics.join(', ')}`
          : limitMs === undefined || limitMs < 0
            ? `“${limit}” is not a number of milliseconds`
            : undefined;
    if (wrong !== undefined) problems.push({ place: '--goodput', message: wrong, hint });
    else if (metric !== undefined && limitMs !== undefined) limits[metric] = limitMs;
  }
  return { value: limits, problems };
}

/** `--metric-percentiles 50,99,99.9`: numbers in the order given, each once. */
export function readPercentiles(text: string): Entries<readonly number[]> {
  const parts = text.split(',').map((part) => part.trim());
  const wrong = parts.filter((part) => {
    const p = numberIn(part);
    return p === undefined || p < 0 || p > 100;
  });
  const problems = wrong.map((part) => ({
    place: '--metric-percentiles',
    message: `“${part}” is not a number from 0 to 100`,
    hint: 'for example 50,90,99',
  }));
  return { value: [...new Set(parts.map((part) => numberIn(part) ?? 0))], problems };
}

/** `--percentile-metrics ttft,e2el`: names in the order given, each once. */
export function readMetrics(text: string, known: readonly string[]): Entries<readonly string[]> {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => ({
      place: '--percentile-metrics',
      message: `there is no metric “${name}”`,
      hint: `metrics: ${known.join(', ')}`,
    }));
  return { value: names, problems };
}
