import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Environment, hubCacheIn, hubSnapshot, isOn } from '../kit/hub-cache.ts';
import type { ModelShape } from '../records/model-shape.ts';
import { huggingFace } from './hugging-face.ts';
import { askHub } from './listing.ts';
import { modelScope, modelScopeFolder, usesModelScope } from './model-scope.ts';
import { readReference } from './reference.ts';
import { type Config, detailsIn, isCount, isObject, languageIn } from './shape-details.ts';

/**
 * What a model's `config.json` says of its shape: from its folder, from the cache of the hub, else from the hub itself.
 * Null where it cannot be had (offline, gated, no such model, a GGUF file) or says too little. Rejects with nothing but
 * the signal's reason.
 */
export async function modelShape(
  model: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<ModelShape | null> {
  const config = await configOf(model, environment, signal).catch(() => null);
  signal.throwIfAborted();
  if (config === null) return null;
  try {
    return shapeIn(JSON.parse(config));
  } catch {
    return null;
  }
}

async function configOf(model: string, environment: Environment, signal: AbortSignal): Promise<string | null> {
  const reference = readReference(model, environment);
  if (reference.kind === 'folder') return readFile(join(reference.path, 'config.json'), 'utf8');
  if (reference.kind !== 'hub') return null;

  const { id, revision } = reference;
  const fromModelScope = usesModelScope(environment);
  const cache = hubCacheIn(environment);
  const folder = fromModelScope
    ? modelScopeFolder(id, environment)
    : cache && (await hubSnapshot(cache, id, revision ?? 'main'))?.path;
  const kept = folder ? await readFile(join(folder, 'config.json'), 'utf8').catch(() => null) : null;
  if (kept !== null || isOn(environment.HF_HUB_OFFLINE || environment.TRANSFORMERS_OFFLINE)) return kept;

  const hub = fromModelScope ? modelScope : huggingFace;
  const url = hub.fileUrl(id, revision, 'config.json', environment);
  const answer = await askHub(url, { headers: await hub.headers(environment), environment, signal });
  if (answer.statusCode === 200) return text(answer);
  answer.destroy();
  return null;
}

/** Each quantity under the names that architectures have for it, as vLLM reads them; the first that is there counts. */
const names = {
  attentionHeads: ['num_attention_heads', 'n_head', 'n_heads'],
  kvHeads: ['n_head_kv', 'num_kv_heads', 'num_key_value_heads', 'multi_query_group_num', 'num_attention_groups', 'kv_n_heads'], // biome-ignore format: one quantity a line
  layers: ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers'],
  hiddenSize: ['hidden_size', 'n_embd', 'd_model'],
  maxPositions: ['max_position_embeddings', 'n_positions', 'max_seq_len', 'seq_length', 'model_max_length', 'max_sequence_length'], // biome-ignore format: one quantity a line
  experts: ['num_experts', 'moe_num_experts', 'n_routed_experts', 'num_local_experts'],
} as const;

/**
 * The shape in a `config.json`; null where it tells too little. The longest sequence is that of the configuration,
 * stretched by its rotary scaling as vLLM derives it.
 */
export function shapeIn(config: unknown): ModelShape | null {
  if (!isObject(config)) return null;
  const language = languageIn(config);
  // Nested blocks of some architectures: DBRX's and MPT's attention and experts.
  const parts = [language, language.attn_config, language.ffn_config].filter(isObject);
  const count = (kind: keyof typeof names): number | null => {
    for (const name of names[kind]) for (const part of parts) if (isCount(part[name])) return part[name];
    return null;
  };
  const [attentionHeads, layers, hiddenSize] = [count('attentionHeads'), count('layers'), count('hiddenSize')];
  const positions = count('maxPositions');
  if (attentionHeads === null || layers === null || hiddenSize === null || positions === null) return null;

  // The old Falcon shares one head of keys and values, and says so in another way.
  const shared = language.multi_query === true && language.new_decoder_architecture !== true;
  const experts = count('experts') ?? 0;
  return {
    attentionHeads,
    kvHeads: shared ? 1 : (count('kvHeads') ?? attentionHeads),
    layers,
    hiddenSize,
    maxPositions: stretched(positions, language),
    experts,
    quantization: quantizationIn(config) ?? quantizationIn(language),
    ...detailsIn({ config, language, parts, layers, hiddenSize, attentionHeads, experts }),
  };
}

/** Kinds of rotary scaling with which the configured length is the stretched one already. */
const stretchedAlready = ['su', 'longrope', 'llama3', 'deepseek_llama_scaling'];

/**
 * With YaRN, older versions of vLLM multiply the original length by the factor, and newer ones take the configured length
 * for the result; the longer one counts here, so that nothing is held to be impossible that one of them can do.
 */
function stretched(positions: number, language: Config): number {
  const scaling = isObject(language.rope_scaling) ? language.rope_scaling : language.rope_parameters;
  if (!isObject(scaling) || /gemma3/.test(String(language.model_type))) return positions;
  const kind = String(scaling.rope_type ?? scaling.type ?? 'default');
  const { factor, original_max_position_embeddings: original } = scaling;
  if (stretchedAlready.includes(kind) || typeof factor !== 'number' || !(factor > 0)) return positions;
  if (/yarn/.test(kind)) return isCount(original) ? Math.max(positions, Math.floor(original * factor)) : positions;
  return Math.floor(positions * factor);
}

function quantizationIn({ quantization_config: given }: Config): string | null {
  const method = isObject(given) ? given.quant_method : undefined;
  return typeof method === 'string' && method !== '' ? method : null;
}
