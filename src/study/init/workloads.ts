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

/** Prompt and answer together of the longest conversation that is taken from ShareGPT, tokens. */
const longestConversation = 2048;

/** Tokens that a model needs room for, of one request. */
export const tokensOf = ({
  dataset_name,
  random_input_len: input = 0,
  random_output_len: output = 0,
}: DefaultWorkload) => (dataset_name === 'sharegpt' ? longestConversation : input + output) + template;

interface Fitting {
  readonly onCpu: boolean;
  readonly maxPositions: number | undefined;
}

/** The workloads that fit a model of so many positions; where that is not known, all of them; one of its own where none does. */
export function workloadsFor({ onCpu, maxPositions = Number.POSITIVE_INFINITY }: Fitting): readonly DefaultWorkload[] {
  const usual = onCpu ? onCpuOnly : onGpu;
  const fitting = usual.filter((workload) => tokensOf(workload) <= maxPositions);
  if (fitting.length > 0) return fitting;
  const room = Math.max(4, maxPositions - template);
  const lengths = { random_input_len: Math.floor((3 * room) / 4), random_output_len: Math.floor(room / 4) };
  return [{ name: 'short', ...lengths, ...(onCpu ? paced : { num_prompts: 500, seed: 42 }) }];
}

/** The usual workloads that are too long for such a model. */
export const leftOut = ({ onCpu, maxPositions = Number.POSITIVE_INFINITY }: Fitting): readonly DefaultWorkload[] =>
  (onCpu ? onCpuOnly : onGpu).filter((workload) => tokensOf(workload) > maxPositions);

/** Name of the workload that decides: the first. */
export const deciding = (workloads: readonly DefaultWorkload[]): string => (workloads[0] as DefaultWorkload).name;
