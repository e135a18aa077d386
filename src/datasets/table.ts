import { burstgpt } from './burstgpt.ts';
import { custom } from './custom.ts';
import type { Dataset } from './dataset.ts';
import { hf } from './hf.ts';
import { prefixRepetition } from './prefix-repetition.ts';
import { random } from './random.ts';
import { sharegpt } from './sharegpt.ts';
import { sonnet } from './sonnet.ts';
import { timedTrace } from './timed-trace.ts';

/**
 * Every dataset, in the order of `--help`. To add one: write its file beside this one, then name it here and in
 * `records/dataset-options.ts`.
 */
export const datasets: readonly Dataset[] = [
  random,
  sharegpt,
  sonnet,
  custom,
  prefixRepetition,
  burstgpt,
  hf,
  timedTrace,
];
