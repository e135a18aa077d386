import { staged } from './staged.ts';
import type { Strategy } from './strategy.ts';

/** Every strategy. To add one: write its file beside this one, then name it here and in `records/study.ts`. */
export const strategies: readonly Strategy[] = [staged];
