import type { Dataset } from './dataset.ts';
import { random } from './random.ts';

/** Every dataset. To add one: write its file beside this one, then name it here and in `records/workload.ts`. */
export const datasets: readonly Dataset[] = [random];
