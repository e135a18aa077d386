import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelShape, shapeIn } from '../../src/weights/shape.ts';
import { standInHub } from './hub.ts';
import { commit, emptyFolder, signal } from './models.ts';

const fixtures = join(import.meta.dirname, '../fixtures/weights');
const config = (name: string): string => readFileSync(join(fixtures, `${name}.json`), 'utf8');
const dense = { experts: 0, quantization: null };

const qwen3 = { vocabularySize: 151936, tiedEmbeddings: false, gatedMlp: true };
const qwen14 = { attentionHeads: 40, kvHeads: 8, layers: 40, hiddenSize: 5120, maxPositions: 40960, experts: 0, intermediateSize: 17408, ...qwen3 }; // biome-ignore format: one model a line
const shapes = {
  'qwen3-14b': { ...qwen14, quantization: null },
  'qwen3-14b-fp8': { ...qwen14, quantization: 'fp8' },
  'qwen3-30b-a3b': {
    attentionHeads: 32, kvHeads: 4, layers: 48, hiddenSize: 2048, maxPositions: 40960, experts: 128, quantization: null, headDim: 128, intermediateSize: 6144, ...qwen3,
    mixture: { expertsPerToken: 8, expertIntermediateSize: 768, sharedIntermediateSize: 0, denseLayers: 0 },
  },
  'deepseek-v3': {
    attentionHeads: 128, kvHeads: 128, layers: 61, hiddenSize: 7168, maxPositions: 163840, experts: 256, quantization: 'fp8', intermediateSize: 18432, gatedMlp: true,
    vocabularySize: 129280, tiedEmbeddings: false,
    mixture: { expertsPerToken: 8, expertIntermediateSize: 2048, sharedIntermediateSize: 2048, denseLayers: 3 },
    latentAttention: { kvRank: 512, ropeDim: 64, nopeDim: 128, valueDim: 128, queryRank: 1536 },
  },
  gpt2: {
    attentionHeads: 12, kvHeads: 12, layers: 12, hiddenSize: 768, maxPositions: 1024, ...dense, intermediateSize: 3072, gatedMlp: false,
    vocabularySize: 50257, tiedEmbeddings: true,
  },
}; // biome-ignore format: few lines a model

describe('shapeIn', () => {
  it.each(Object.entries(shapes))('reads %s', (name, shape) =>
    expect(shapeIn(JSON.parse(config(name)))).toEqual(shape),
  );

  it('has a case for every fixture', () => {
    const names = readdirSync(fixtures).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    expect(names.map((name) => name.slice(0, -5)).sort()).toEqual(Object.keys(shapes).sort());
  });

  const plain = { num_attention_heads: 8, num_key_value_heads: 2, num_hidden_layers: 4, hidden_size: 64, max_position_embeddings: 100 }; // biome-ignore format: one shape
  const expected = { attentionHeads: 8, kvHeads: 2, layers: 4, hiddenSize: 64, maxPositions: 100, ...dense };
  it.each([
    ['a multimodal one', { hidden_size: 3, text_config: plain }, expected],
    ['one two levels down', { thinker_config: { text_config: plain, vision_config: {} } }, expected],
    ['one under another name', { llm_config: plain, quantization_config: { quant_method: 'awq' } }, { ...expected, quantization: 'awq' }], // biome-ignore format: one case a line
    ['quantization of the language part', { text_config: { ...plain, quantization_config: { quant_method: 'gptq' } } }, { ...expected, quantization: 'gptq' }], // biome-ignore format: one case a line
    ['no heads of keys', { ...plain, num_key_value_heads: null }, { ...expected, kvHeads: 8 }],
    ['the old Falcon', { ...plain, num_key_value_heads: undefined, multi_query: true }, { ...expected, kvHeads: 1 }],
    ['the new Falcon', { ...plain, multi_query: true, new_decoder_architecture: true, num_kv_heads: 4 }, { ...expected, kvHeads: 4 }], // biome-ignore format: one case a line
    ['experts under another name', { ...plain, num_local_experts: 16 }, { ...expected, experts: 16 }],
    ['experts in a block', { ...plain, ffn_config: { moe_num_experts: 16 } }, { ...expected, experts: 16 }],
    ['linear scaling', { ...plain, rope_scaling: { type: 'linear', factor: 2.5 } }, { ...expected, maxPositions: 250 }],
    ['scaling that is in the length', { ...plain, rope_scaling: { rope_type: 'llama3', factor: 8 } }, expected],
    ['YaRN', { ...plain, rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 80 } }, { ...expected, maxPositions: 320 }], // biome-ignore format: one case a line
    ['YaRN in newer files', { ...plain, rope_parameters: { rope_type: 'yarn', factor: 2, original_max_position_embeddings: 50 } }, expected], // biome-ignore format: one case a line
    ['no heads', { ...plain, num_attention_heads: undefined }, null],
    ['no length', { ...plain, max_position_embeddings: undefined }, null],
    ['words for numbers', { ...plain, hidden_size: '64' }, null],
    ['a list', [plain], null],
    ['nothing', null, null],
  ])('reads %s', (_, given, shape) => expect(shapeIn(given)).toEqual(shape));

  const full = 'full_attention';
  const near = 'sliding_attention';
  it.each([
    ['of all layers', { model_type: 'mistral', sliding_window: 50 }, { tokens: 50, layers: 4 }],
    ['that is switched off', { model_type: 'qwen2', sliding_window: 50, use_sliding_window: false }, undefined],
    ['that Qwen does not switch on', { model_type: 'qwen2', sliding_window: 50, max_window_layers: 3 }, undefined],
    ['of the last layers', { model_type: 'qwen2', sliding_window: 50, use_sliding_window: true, max_window_layers: 3 }, { tokens: 50, layers: 1 }],
    ['of listed layers', { sliding_window: 50, layer_types: [near, full, near, near] }, { tokens: 50, layers: 3 }],
    ['of listed layers, none', { sliding_window: 50, layer_types: [full, full, full, full] }, undefined],
    ['by a pattern', { model_type: 'cohere2', sliding_window: 50, sliding_window_pattern: 4 }, { tokens: 50, layers: 3 }],
    ['of every second layer', { model_type: 'gemma2', sliding_window: 50 }, { tokens: 50, layers: 2 }],
    ['of alternating layers', { model_type: 'gpt_oss', sliding_window: 50, layer_types: [near, full, near, full] }, { tokens: 50, layers: 2 }],
    ['that is null', { model_type: 'mistral', sliding_window: null }, undefined],
  ])('reads a window %s', (_, given, window) => {
    expect(shapeIn({ ...plain, ...given })?.slidingWindow).toEqual(window);
  }); // biome-ignore format: one case a line

  const sparse = { num_experts: 8, num_experts_per_tok: 2, intermediate_size: 70, moe_intermediate_size: 30 };
  it.each([
    ['step', { decoder_sparse_step: 2 }, { denseLayers: 2 }],
    ['list', { decoder_sparse_step: 1, mlp_only_layers: [0, 2, 3] }, { denseLayers: 3 }],
    ['first layers', { first_k_dense_replace: 1, n_shared_experts: 2 }, { denseLayers: 1, sharedIntermediateSize: 60 }],
    ['period after the first', { first_k_dense_replace: 1, moe_layer_freq: 2 }, { denseLayers: 3 }],
    ['kinds of layers', { mlp_layer_types: ['dense', 'sparse', 'sparse', 'sparse'] }, { denseLayers: 1 }],
    ['width beside experts', { shared_expert_intermediate_size: 20 }, { sharedIntermediateSize: 20, denseLayers: 0 }],
    ['one width', { moe_intermediate_size: undefined }, { expertIntermediateSize: 70 }],
  ])('reads a mixture by its %s', (_, given, mixture) => {
    const shape = shapeIn({ ...plain, ...sparse, ...given });
    expect(shape).toMatchObject({ experts: 8, intermediateSize: 70 });
    expect(shape?.mixture).toMatchObject({ expertsPerToken: 2, expertIntermediateSize: 30, ...mixture });
  });

  it('reads what a multimodal file says outside of the language part, and what its class leaves out', () => {
    const gemma = { model_type: 'gemma3_text', hidden_size: 2560, intermediate_size: 10240, num_hidden_layers: 34, sliding_window: 1024 }; // biome-ignore format: one part
    expect(shapeIn({ model_type: 'gemma3', text_config: gemma })).toMatchObject({
      attentionHeads: 8, kvHeads: 4, headDim: 256, vocabularySize: 262208, tiedEmbeddings: true, maxPositions: 131072, slidingWindow: { tokens: 1024, layers: 29 },
    }); // biome-ignore format: one shape
    expect(shapeIn({ tie_word_embeddings: true, text_config: { ...plain, model_type: 'llama' } })).toMatchObject({ tiedEmbeddings: true }); // biome-ignore format: one case
    expect(shapeIn({ tie_word_embeddings: true, text_config: { ...plain, tie_word_embeddings: false } })).toMatchObject({ tiedEmbeddings: false }); // biome-ignore format: one case
  });

  it('counts layers that keep a state instead of keys and values', () => {
    expect(shapeIn({ ...plain, full_attention_interval: 4 })).toMatchObject({ linearAttentionLayers: 3 });
    const types = ['linear_attention', full, 'linear_attention', full];
    expect(shapeIn({ ...plain, layer_types: types })).toMatchObject({ linearAttentionLayers: 2 });
    expect(shapeIn({ ...plain, index_topk: 20, head_dim: 16 })).toMatchObject({ attendedTokens: 20, headDim: 16 });
  });
});

describe('modelShape', () => {
  const qwen = shapes['qwen3-14b'];
  const files = { 'config.json': Buffer.from(config('qwen3-14b')), 'model.safetensors': Buffer.from('weights') };

  it('asks the folder, the cache, and then the hub', async () => {
    const folder = emptyFolder();
    expect(await modelShape(folder, {}, signal)).toBeNull();
    writeFileSync(join(folder, 'config.json'), config('gpt2'));
    expect(await modelShape(folder, {}, signal)).toEqual(shapes.gpt2);

    const cache = emptyFolder();
    {
      await using hub = await standInHub({ 'org/qwen': { commit, files, private: true } });
      const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };
      expect(await modelShape('org/qwen', { ...env, HF_HUB_OFFLINE: '1' }, signal)).toBeNull();
      expect(hub.asked).toHaveLength(0);
      expect(await modelShape('org/qwen', env, signal)).toBeNull();
      expect(await modelShape('org/qwen', { ...env, HF_TOKEN: 'hf_secret' }, signal)).toEqual(qwen);
      expect(await modelShape('org/none', { ...env, HF_TOKEN: 'hf_secret' }, signal)).toBeNull();
    }
    const snapshot = join(cache, 'models--org--qwen/snapshots', commit);
    mkdirSync(snapshot, { recursive: true });
    mkdirSync(join(snapshot, '../../refs'));
    writeFileSync(join(snapshot, '../../refs/main'), commit);
    writeFileSync(join(snapshot, 'config.json'), config('qwen3-14b'));
    const offline = { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: 'TRUE' };
    expect(await modelShape('org/qwen', offline, signal)).toEqual(qwen);
    expect(await modelShape('org/qwen@v2', offline, signal)).toBeNull();
    writeFileSync(join(snapshot, 'config.json'), '{"broken');
    expect(await modelShape('org/qwen', offline, signal)).toBeNull();
  });

  it('is null for what has no configuration, and stops when told to', async () => {
    for (const name of ['/none', 'no model', `${import.meta.filename}`]) {
      expect(await modelShape(name, {}, signal)).toBeNull();
    }
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    await expect(modelShape('org/qwen', { HF_ENDPOINT: 'http://127.0.0.1:1' }, stop.signal)).rejects.toThrow('enough');
  });
});
