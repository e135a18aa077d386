import { type Compat, compatModes } from '../../records/compat.ts';

/** A release of vLLM whose benchmark is reproduced. */
export type VllmVersion = Exclude<Compat, 'servetune'>;

/** Every one, oldest first. */
export const vllmVersions = compatModes.filter((mode): mode is VllmVersion => mode !== 'servetune');

/** In what the benchmarks of the releases differ, as far as metrics, result block and saved result are concerned. */
export interface VllmTraits {
  /** Whose count of prompt tokens enters the totals where the server sends one. */
  readonly promptTokensBy: 'client' | 'server';
  /** `failed` is printed and saved. */
  readonly countsFailed: boolean;
  /** The first ten errors are listed before the block. */
  readonly listsErrors: boolean;
  readonly totalThroughputLabel: string;
  /** `start_times` and `rtfx` are saved. */
  readonly savesStartTimes: boolean;
}

/**
 * v0.11.1 (November 2025) stands between the other two: it has the count of failed requests (October 2025), but not yet
 * the small `t` of the total token throughput (December 2025), the start times (January 2026), the list of errors and the
 * server's count of prompt tokens (April 2026).
 */
export const vllmTraits: Readonly<Record<VllmVersion, VllmTraits>> = {
  'vllm-0.11.0': {
    promptTokensBy: 'client',
    countsFailed: false,
    listsErrors: false,
    totalThroughputLabel: 'Total Token throughput (tok/s):',
    savesStartTimes: false,
  },
  'vllm-0.11.1': {
    promptTokensBy: 'client',
    countsFailed: true,
    listsErrors: false,
    totalThroughputLabel: 'Total Token throughput (tok/s):',
    savesStartTimes: false,
  },
  'vllm-2026-08': {
    promptTokensBy: 'server',
    countsFailed: true,
    listsErrors: true,
    totalThroughputLabel: 'Total token throughput (tok/s):',
    savesStartTimes: true,
  },
};
