import type { z } from 'zod';
import type { workload } from '../../records/workload.ts';

/** A workload as it stands in a study file: what is left out has its default. */
export type DefaultWorkload = z.input<typeof workload> & { readonly num_prompts: number };

/** Tokens that a chat template may put around a prompt. */
const template = 64;

/** The reference study's: ShareGPT, and random prompts of four lengths, everything sent at once. */
const onGpu: readonly DefaultWorkload[] = [
  { name: 'sharegpt', dataset_name: 'sharegpt', num_prompts: 1000 },
  { name: 'short', random_input_len: 128, random_output_len: 4, num_prompts: 1000, seed: 42 },
  { name: 'medium', random_input_len: 2000, random_output_len: 100, num_prompts: 500, seed: 42 },
  { name: 'long', random_input_len: 4000, random_output_len: 200, num_prompts: 500, seed: 42 },
  { name: 'very-long', random_input_len: 32000, random_output_len: 100, num_prompts: 100, seed: 42 },
];

/** What a CPU can do in seconds. */
const paced = { num_prompts: 64, max_concurrency: 16, min_duration_s: 5, seed: 42 };
const onCpuOnly: readonly DefaultWorkload[] = [
  { name: 'chat', random_input_len: 64, random_output_len: 32, ...paced },
  { name: 'long-prompt', random_input_len: 192, random_output_len: 8, ...paced },
  { name: 'long-answer', random_input_len: 16, random_output_len: 48, ...paced },
];

/** The workloads that fit a model of so many positions; where that is not known, all of them. */
export function workloadsFor({
  onCpu,
  maxPositions,
}: {
  readonly onCpu: boolean;
  readonly maxPositions: number | undefined;
}): readonly DefaultWorkload[] {
  if (onCpu) return onCpuOnly;
  return onGpu.filter(
    ({ random_input_len: input = 0, random_output_len: output = 0 }) =>
      maxPositions === undefined || input + output + template <= maxPositions,
  );
}

/** Name of the workload that decides: the first. */
export const deciding = (workloads: readonly DefaultWorkload[]): string => (workloads[0] as DefaultWorkload).name;
