import { embedded } from './embedded.ts';
import type { Engine } from './engine.ts';
import { vllm } from './vllm.ts';

/** Every engine. To add one: write its file beside this one, then name it here. */
export const engines: readonly Engine[] = [embedded, vllm];
