import type { z } from 'zod';
import { invocation } from '../kit/invocation.ts';
import { type WorkloadOptions, workloadOptions } from '../records/workload.ts';
import { warmupsOf } from './prompts.ts';

/** Options that a reader wants to see even where they are the default. */
const alwaysShown = new Set([
  'backend',
  'dataset_name',
  'random_input_len',
  'random_output_len',
  'num_prompts',
  'seed',
  // The defaults of the command line are vLLM's, not those of a study.
  'temperature',
  'ignore_eos',
]);

/**
 * The `bench serve` command that sends the same load to a server that runs already: one argument an entry, defaults left
 * out but for those that say what is measured.
 */
export function loadCommand(baseUrl: URL, model: string, workload: WorkloadOptions): readonly string[] {
  const irrelevant = (key: string): boolean => workload.dataset_name !== 'random' && key.startsWith('random_');
  const server = baseUrl.origin + baseUrl.pathname.replace(/\/+$/, '');
  const argv = [...invocation, 'bench', 'serve', '--base-url', server, '--model', model];
  for (const [key, schema] of Object.entries(workloadOptions.shape) as [keyof WorkloadOptions, z.ZodType][]) {
    const value = workload[key];
    if (irrelevant(key)) continue;
    if (value === undefined || (value === schema.safeParse(undefined).data && !alwaysShown.has(key))) continue;
    const flag = `--${key.replaceAll('_', '-')}`;
    if (typeof value === 'boolean') argv.push(value ? flag : flag.replace('--', '--no-'));
    else argv.push(flag, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  argv.push('--num-warmups', String(warmupsOf(workload)));
  return argv;
}
