import { pythonBelow, pythonTwister } from '../../kit/mersenne-twister.ts';
import type { RequestSpec } from '../../records/request.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import type { Made } from '../dataset.ts';

/** A request that does not have its place yet. */
export type Sample = Omit<RequestSpec, 'index'>;

/**
 * Numbers the samples of a dataset, and repeats some where it has fewer than `count`: drawn with replacement by Python's
 * `random`, seeded anew, as `vllm bench serve` draws them; v0.11.0 scaled a double for each, later releases draw a
 * whole number. With `no_oversample` the requests are as few as the samples. Notes say which of the two happened.
 */
export function oversampled(
  samples: readonly Sample[],
  count: number,
  { seed, no_oversample, compat }: Pick<WorkloadOptions, 'seed' | 'no_oversample' | 'compat'>,
): Made {
  const missing = count - samples.length;
  const numbered = (list: readonly Sample[]): RequestSpec[] => list.map((sample, index) => ({ ...sample, index }));
  if (missing <= 0) return { requests: numbered(samples.slice(0, count)), notes: [] };
  if (no_oversample || samples.length === 0) {
    return {
      requests: numbered(samples),
      notes: [`The dataset has only ${samples.length} of the ${count} prompts that were asked for.`],
    };
  }

  const generator = pythonTwister(seed);
  const draw =
    compat === 'vllm-0.11.0'
      ? () => Math.floor(generator.random() * samples.length)
      : () => pythonBelow(generator, samples.length);
  const repeats = Array.from({ length: missing }, () => samples[draw()] as Sample);
  return {
    requests: numbered([...samples, ...repeats]),
    notes: [
      `${missing} of ${count} prompts are repeats, since the dataset has only ${samples.length}; a prefix cache answers ` +
        'repeats faster than prompts of their own.',
    ],
  };
}
