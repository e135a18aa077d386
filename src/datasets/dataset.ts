import type { DatasetName } from '../records/dataset-options.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** What a dataset works with. */
export interface Making {
  /** Null where there is none (`--skip-tokenizer-init`): lengths are then 0 until the server tells them. */
  readonly tokenizer: Tokenizer | null;
  readonly signal: AbortSignal;
  /** The server applies the chat template itself, so the dataset must not. */
  readonly serverTemplates: boolean;
  /** Where fetched datasets lie (`servetune dataset fetch`). */
  readonly cacheDir: string;
  /** Called now and then while prompts are made. */
  onProgress?(done: number, total: number): void;
}

/** What came out. */
export interface Made {
  /**
   * Indexed from 0. Fewer than asked for only with `no_oversample`, or where a trace is shorter. With `dueS` on each of
   * them the dataset has its own clock, and arrival options do not apply.
   */
  readonly requests: readonly RequestSpec[];
  /** What must stand beside every result, each a sentence: rows left out and why, rows repeated, a stand-in. */
  readonly notes: readonly string[];
}

/** Requests without their texts, by columns: entry i of each list belongs to request i. */
export interface Lengths {
  readonly promptTokens: Int32Array;
  readonly outputTokens: Int32Array;
  /** Tokens at the beginning of each prompt with which an earlier one begins as well. Absent: none of any. */
  readonly sharedTokens?: Int32Array;
  /** When a dataset that has its own clock wants each sent, seconds after the start of the load. */
  readonly dueS?: Float64Array;
  /** As those of `Made`. */
  readonly notes: readonly string[];
}

/** Where prompts come from. One file each. */
export interface Dataset {
  /** `--dataset-name`. */
  readonly name: DatasetName;
  /** One line for `--help`. */
  readonly description: string;
  /** Its lengths cannot be reproduced unless every answer runs to its full length: end-of-sequence is ignored. */
  readonly pinsOutput: boolean;
  /**
   * `count` requests. The same options, count, file and tokenizer give the same requests, on any machine. Throws an
   * InputError when the options or the file cannot give a prompt at all.
   */
  make(options: WorkloadOptions, count: number, making: Making): Promise<Made>;
  /**
   * The lengths of the requests that `make` would give, without a tokenizer: exactly, but for what a tokenizer adds by
   * itself and for prompts that do not come out as long as asked. Null, or absent, where only the texts tell. Throws as
   * `make` does.
   */
  lengths?(
    options: WorkloadOptions,
    count: number,
    making: Pick<Making, 'cacheDir' | 'signal'>,
  ): Promise<Lengths | null>;
}
