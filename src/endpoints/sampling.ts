import type { Compat } from '../records/compat.ts';
import type { Sampling } from '../records/workload.ts';
import type { Endpoint, RequestOptions, Wish } from './endpoint.ts';

/** What was asked for, under its own names; a key without a value would hide a default that stands before it. */
export const given = (sampling: Sampling): Sampling =>
  Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));

/** Until v0.11.1 at least, `vllm bench serve` decodes greedily unless it is told a temperature; later it leaves it out. */
export const vllmTemperature = (compat: Compat): Sampling =>
  compat === 'vllm-0.11.0' || compat === 'vllm-0.11.1' ? { temperature: 0 } : {};

/**
 * What is asked for and the dialect has no word for, so that it would be left out of every request; to be refused before
 * anything is sent. `lora` says whether some request names another model than the load's.
 */
export function unsupported(
  endpoint: Endpoint,
  { sampling, logprobs }: Pick<RequestOptions, 'sampling' | 'logprobs'>,
  lora = false,
): readonly Wish[] {
  const wishes: readonly string[] = [
    ...Object.keys(given(sampling)),
    ...(logprobs === undefined ? [] : ['logprobs']),
    ...(lora ? ['lora'] : []),
  ];
  return (endpoint.unsupported ?? []).filter((wish) => wishes.includes(wish));
}
