import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** Where prompts come from. One file each. */
export interface Dataset {
  /** `--dataset-name`. */
  readonly name: string;
  /** One line for `--help`. */
  readonly description: string;
  /**
   * `count` requests, indexed from 0. The same options, count and tokenizer give the same requests, on any machine.
   * Throws an InputError when the options cannot give a prompt at all.
   */
  make(
    options: WorkloadOptions,
    count: number,
    tokenizer: Tokenizer,
    signal?: AbortSignal,
  ): Promise<readonly RequestSpec[]>;
}
