import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelShape, shapeIn } from '../../src/weights/shape.ts';
import { standInHub } from './hub.ts';
import { commit, emptyFolder, signal } from './models.ts';

const fixtures = join(import.meta.dirname, '../fixtures/weights');
const config = (name: string): string => readFileSync(join(fixtures, `${name}.json`), 'utf8');
const dense = { experts: 0, quantization: null };

const shapes = {
  'qwen3-14b': { attentionHeads: 40, kvHeads: 8, layers: 40, hiddenSize: 5120, maxPositions: 40960, ...dense },
  'qwen3-14b-fp8': { attentionHeads: 40, kvHeads: 8, layers: 40, hiddenSize: 5120, maxPositions: 40960, experts: 0, quantization: 'fp8' }, // biome-ignore format: one model a line
  'qwen3-30b-a3b': { attentionHeads: 32, kvHeads: 4, layers: 48, hiddenSize: 2048, maxPositions: 40960, experts: 128, quantization: null }, // biome-ignore format: one model a line
  'deepseek-v3': { attentionHeads: 128, kvHeads: 128, layers: 61, hiddenSize: 7168, maxPositions: 163840, experts: 256, quantization: 'fp8' }, // biome-ignore format: one model a line
  gpt2: { attentionHeads: 12, kvHeads: 12, layers: 12, hiddenSize: 768, maxPositions: 1024, ...dense },
};

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
