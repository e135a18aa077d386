import {
  bool,
  float32,
  type Header,
  int32s,
  layOut,
  paddingAfter,
  type TensorShape,
  text,
  texts,
  uint32,
} from './gguf-writer.ts';
import { writeNewFile } from './new-file.ts';
import { fileTypeOf, formatOf, type TargetFormat } from './number-format.ts';
import { decodeNumbers, encodeNumbers, halfOf } from './quantize.ts';
import { readVocabulary } from './vocabulary.ts';

/** The name under which users ask for the model that needs no download. */
export const tinyModelName = 'tiny-qwen3';

/**
 * Stands in the name of the files, so that an older servetune's file is not taken for this one's: count it up with every
 * change of the weights, the shape or the metadata.
 */
const revision = 1;

/** 15.7 million weights in Qwen3's architecture. Every width is a multiple of 32, as quantized blocks need it. */
export const tinyShape = {
  hidden: 384,
  layers: 6,
  heads: 6,
  keyValueHeads: 2,
  headWidth: 64,
  feedForward: 1024,
  contextLength: 32768,
  vocabulary: 8192,
} as const;

const seed = 20250429;

const chatTemplate = `{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`;

function layerShapes(layer: number): readonly (readonly [name: string, ...shape: number[]])[] {
  const { hidden, heads, keyValueHeads, headWidth, feedForward } = tinyShape;
  const queries = heads * headWidth;
  const keys = keyValueHeads * headWidth;
  return [
    [`blk.${layer}.attn_k.weight`, hidden, keys],
    [`blk.${layer}.attn_k_norm.weight`, headWidth],
    [`blk.${layer}.attn_norm.weight`, hidden],
    [`blk.${layer}.attn_output.weight`, queries, hidden],
    [`blk.${layer}.attn_q.weight`, hidden, queries],
    [`blk.${layer}.attn_q_norm.weight`, headWidth],
    [`blk.${layer}.attn_v.weight`, hidden, keys],
    [`blk.${layer}.ffn_down.weight`, feedForward, hidden],
    [`blk.${layer}.ffn_gate.weight`, hidden, feedForward],
    [`blk.${layer}.ffn_norm.weight`, hidden],
    [`blk.${layer}.ffn_up.weight`, hidden, feedForward],
  ];
}

/** In the order in which `llama-quantize` writes tensors: those of no layer first, then layer by layer, by name. */
function tensorShapes(format: TargetFormat): readonly TensorShape[] {
  const { hidden, layers, vocabulary } = tinyShape;
  const all: readonly (readonly [name: string, ...shape: number[]])[] = [
    ['output.weight', hidden, vocabulary],
    ['output_norm.weight', hidden],
    ['token_embd.weight', hidden, vocabulary],
    ...Array.from({ length: layers }, (_, layer) => layerShapes(layer)).flat(),
  ];
  return all.map(([name, ...shape]) => ({ name, shape, format: formatOf(shape.length < 2 ? 'f32' : format) }));
}

function layOutTinyModel(format: TargetFormat): Header {
  const { tokens, types, merges } = readVocabulary();
  const id = (token: string): number => tokens.indexOf(token);
  const entries = [
    text('general.architecture', 'qwen3'),
    text('general.type', 'model'),
    text('general.name', `${tinyModelName} (random weights)`),
    text('general.description', `Random weights (seed ${seed}) for measuring speed; its answers mean nothing.`),
    text('general.license', 'apache-2.0'),
    uint32('qwen3.block_count', tinyShape.layers),
    uint32('qwen3.context_length', tinyShape.contextLength),
    uint32('qwen3.embedding_length', tinyShape.hidden),
    uint32('qwen3.feed_forward_length', tinyShape.feedForward),
    uint32('qwen3.attention.head_count', tinyShape.heads),
    uint32('qwen3.attention.head_count_kv', tinyShape.keyValueHeads),
    uint32('qwen3.attention.key_length', tinyShape.headWidth),
    uint32('qwen3.attention.value_length', tinyShape.headWidth),
    float32('qwen3.attention.layer_norm_rms_epsilon', 1e-6),
    float32('qwen3.rope.freq_base', 1_000_000),
    text('tokenizer.ggml.model', 'gpt2'),
    text('tokenizer.ggml.pre', 'qwen2'),
    texts('tokenizer.ggml.tokens', tokens),
    int32s('tokenizer.ggml.token_type', types),
    texts('tokenizer.ggml.merges', merges),
    uint32('tokenizer.ggml.eos_token_id', id('<|im_end|>')),
    uint32('tokenizer.ggml.padding_token_id', id('<|endoftext|>')),
    uint32('tokenizer.ggml.bos_token_id', id('<|endoftext|>')),
    bool('tokenizer.ggml.add_bos_token', false),
    text('tokenizer.chat_template', chatTemplate),
    // The two keys that llama-quantize sets anew, and so puts last.
    uint32('general.quantization_version', 2),
    uint32('general.file_type', fileTypeOf(format)),
  ];
  return layOut(entries, tensorShapes(format));
}

/** sfc32, a generator of 32-bit integers by additions and shifts only: the same numbers on every machine. */
function sfc32(name: string): () => number {
  let a = seed;
  let b = 0x9e3779b9;
  let c = 0x811c9dc5;
  for (const character of name) c = Math.imul(c ^ (character.codePointAt(0) ?? 0), 0x01000193);
  let counter = 1;
  const next = (): number => {
    const result = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  for (let i = 0; i < 16; i++) next();
  return next;
}

/** The sum of the four bytes of a random word, 0 to 1020, is close to normal: its mean and standard deviation. */
const meanDraw = 510;
const draws = 1021;
const drawSd = Math.sqrt((4 * (256 ** 2 - 1)) / 12);

/**
 * Weights of one tensor: bell-shaped with variance 1 / (numbers in a row), so that every product keeps the size of its
 * input and nothing overflows however deep; embeddings have variance 1. Each is a half-precision number, so that the
 * F32 and the F16 file hold the same weights. Norms (one dimension) are 1.
 */
function weightsOf({ name, shape }: TensorShape, target: TargetFormat): Uint8Array {
  const [columns = 1, rows] = shape;
  if (rows === undefined) return encodeNumbers(new Float32Array(columns).fill(1), 'f32');
  const random = sfc32(name);
  const unit = (name === 'token_embd.weight' ? 1 : Math.sqrt(1 / columns)) / drawSd;
  const halfOfDraw = Uint16Array.from({ length: draws }, (_, draw) => halfOf((draw - meanDraw) * unit));
  const numberOfDraw = decodeNumbers(new Uint8Array(halfOfDraw.buffer), 'f16');
  const count = columns * rows;
  const values = target === 'f16' ? new Uint16Array(count) : new Float32Array(count);
  const table = target === 'f16' ? halfOfDraw : numberOfDraw;
  for (let i = 0; i < count; i++) {
    const word = random();
    values[i] = table[(word & 255) + ((word >>> 8) & 255) + ((word >>> 16) & 255) + (word >>> 24)] as number;
  }
  return values instanceof Uint16Array ? new Uint8Array(values.buffer) : encodeNumbers(values, target);
}

export interface TinyModelFile {
  readonly fileName: string;
  readonly fileBytes: number;
  /** Writes the file, whole or not at all; the same bytes on every machine. About a second. */
  write(path: string, signal?: AbortSignal): Promise<void>;
}

/** The model that needs no download, with its weights in one format. Only its size is known before it is written. */
export function tinyModelFile(format: TargetFormat): TinyModelFile {
  const header = layOutTinyModel(format);
  return {
    fileName: `${tinyModelName}-r${revision}-${format}.gguf`,
    fileBytes: header.fileBytes,
    write: (path, signal) =>
      writeNewFile(path, signal, async (write) => {
        await write(header.bytes);
        for (const tensor of header.tensors) {
          const numbers = weightsOf(tensor, format);
          await write(numbers);
          await write(paddingAfter(numbers.length));
        }
      }),
  };
}
