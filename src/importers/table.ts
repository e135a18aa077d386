import type { Importer } from './importer.ts';
import { vllmBlock } from './vllm-block.ts';
import { vllmJson } from './vllm-json.ts';

/**
 * Every format, the first that recognises a text reads it. JSON comes first: the answers of models that a result file
 * may hold can contain anything, printed results as well.
 */
export const importers: readonly Importer[] = [vllmJson, vllmBlock];
