import { embedded } from './embedded.ts';
import type { Engine } from './engine.ts';
import { external } from './external.ts';
import { llamaCpp } from './llama-cpp.ts';
import { sglang } from './sglang.ts';
import { tensorrtLlm } from './tensorrt-llm.ts';
import { vllm } from './vllm.ts';

/** Every engine. To add one: write its file beside this one, then name it here. */
export const engines: readonly Engine[] = [vllm, sglang, tensorrtLlm, llamaCpp, embedded, external];
