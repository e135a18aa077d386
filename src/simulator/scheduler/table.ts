import type { SchedulerKind } from './scheduler.ts';
import { sglang } from './sglang.ts';
import { tensorrtLlm } from './tensorrt-llm.ts';
import { vllm } from './vllm.ts';

/** Every engine whose scheduler is known. To add one: write its file beside these, then name it here. */
export const schedulers: readonly SchedulerKind[] = [vllm, sglang, tensorrtLlm];
