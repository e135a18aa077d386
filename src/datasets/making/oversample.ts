import { pythonBelow, pythonTwister } from '../../kit/mersenne-twister.ts';
import type { RequestSpec } from '../../records/request.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import type { Made } from '../dataset.ts';
import { present, repeatNote } from './repeats.ts';

/** A request that does not have its place yet. */
export type Sample = Omit<RequestSpec, 'index'>;

/**
 * Numbers the samples of a dataset, and repeats some where it has fewer than `count`: drawn with replacement by Python's
 * `random`, seeded anew, as `vllm bench serve` draws them; v0.11.0 scaled a double for each, later releases draw a
 * whole number. With `no_oversample` the requests are as few as the samples. Notes say which of the two happened, and
 * when rows of the file are alike.
 */
export function oversampled(
  samples: readonly Sample[],
  count: number,
  { seed, no_oversample, compat }: Pick<WorkloadOptions, 'seed' | 'no_oversample' | 'compat'>,
): Made {
  const missing = count - samples.length;
  const numbered = (list: readonly Sample[]): RequestSpec[] => list.map((sample, index) => ({ ...sample, index }));
  if (missing <= 0) {
    const requests = numbered(samples.slice(0, count));
    return { requests, notes: present(repeatNote(requests)) };
  }
  if (no_oversample || samples.length === 0) {
    const requests = numbered(samples);
    const fewer = `The dataset has only ${samples.length} of the ${count} prompts that were asked for.`;
    return { requests, notes: present(fewer, repeatNote(requests)) };
  }

  const generator = pythonTwister(seed);
  const draw =
    compat === 'vllm-0.11.0'
      ? () => Math.floor(generator.random() * samples.length)
      : () => pythonBelow(generator, samples.length);
  const repeats = Array.from({ length: missing }, () => samples[draw()] as Sample);
  const requests = numbered([...samples, ...repeats]);
  return { requests, notes: present(repeatNote(requests, `, since the dataset has only ${samples.length}`)) };
}
