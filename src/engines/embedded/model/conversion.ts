import { open } from 'node:fs/promises';
import { InputError, type Problem } from '../../../kit/errors.ts';
import { type GgufFile, metadataOf } from './gguf.ts';
import { elementsOf, type Header, layOut, type PlacedTensor, paddingAfter, uint32 } from './gguf-writer.ts';
import { writeNewFile } from './new-file.ts';
import {
  bytesOf,
  fileTypeName,
  fileTypeOf,
  formatOf,
  type NumberFormat,
  type TargetFormat,
  targetFormats,
} from './number-format.ts';
import { decodeNumbers, encodeNumbers, isPlainFormat } from './quantize.ts';

/** Numbers converted between two looks at the abort signal: a few megabytes, some tens of milliseconds. */
const chunkElements = 1 << 20;

/**
 * The format of a file's weights by its own word, `general.file_type`; a file that says nothing is named after the
 * format that holds the most numbers.
 */
export function quantizationOf(file: GgufFile): string {
  const fileType = metadataOf(file, 'general.file_type');
  const said = typeof fileType === 'number' ? fileTypeName(fileType) : undefined;
  if (said) return said;
  const elements = new Map<string, number>();
  for (const { format, shape } of file.tensors)
    elements.set(format.name, (elements.get(format.name) ?? 0) + elementsOf(shape));
  const [most] = [...elements].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 'unknown';
}

/**
 * Matrices that `llama-quantize` leaves as they are, by their names: norms, routers, positions and the small matrices of
 * recurrent, multimodal and audio models, which cost little and lose much.
 */
const keptAsTheyAre = [
  /_norm\.weight$/,
  /ffn_gate_inp\.weight|ffn_gate_tid2eid\.weight/,
  /altup|laurel|per_layer_model_proj/,
  /^(position_embd|token_types)\.weight$/,
  /ssm_conv1d|shortconv\.conv\.weight/,
  /indexer\.[kq]_proj\.weight/,
  /time_mix_(first|w[012]|v[012]|a[012]|g[12]|decay_w[12]|lerp_fused)\.weight/,
  /attn_rel_b\.weight/,
  /\.position_embd|sam\.pos_embd|sam\.neck\.|sam\.net_|\.rel_pos|\.patch_embd|\.patch_merger/,
  /a\.rvq\.codebook|mm\.a\.code_embd/,
];

/** The format that a tensor gets: `llama-quantize --pure` decides so. */
function formatFor({ name, shape, format }: PlacedTensor, target: TargetFormat): NumberFormat {
  const dimensions = shape.findLastIndex((n) => n !== 1) + 1;
  if (dimensions < 2 || !name.endsWith('weight') || keptAsTheyAre.some((kept) => kept.test(name))) return format;
  const wanted = formatOf(target);
  return (shape[0] ?? 1) % wanted.blockElements === 0 ? wanted : formatOf('f16');
}

const changes = (tensor: PlacedTensor, target: TargetFormat): boolean =>
  formatFor(tensor, target).id !== tensor.format.id;

/** Why the file cannot be turned into the format; empty when it can. */
export function conversionProblems(file: GgufFile, target: string): readonly Problem[] {
  const place = `quantization=${target}`;
  const own = quantizationOf(file);
  const shards = metadataOf(file, 'split.count');
  if (!targetFormats.some((known) => known === target))
    return [
      {
        place,
        message: `${file.path} is ${own}, and ${target} cannot be made from it here`,
        hint: `use one of ${targetFormats.join(', ')}, or make the file with llama-quantize and give its path`,
      },
    ];
  if (typeof shards === 'number' && shards > 1)
    return [
      {
        place,
        message: `${file.path} is one of ${shards} parts of a model`,
        hint: 'join them first with llama-gguf-split --merge',
      },
    ];
  const locked = file.tensors.find(
    (tensor) => changes(tensor, target as TargetFormat) && !isPlainFormat(tensor.format.name),
  );
  if (locked)
    return [
      {
        place,
        message: `${file.path} is quantized already (${own}; ${locked.name} is ${locked.format.name}), and quantizing twice would add the errors of both`,
        hint: 'start from the F16, BF16 or F32 file of the model, or leave quantization out',
      },
    ];
  return [];
}

const layerOf = (name: string): number => Number(/^blk\.(\d+)/.exec(name)?.[1] ?? -1);

/** Tensors of no layer first, then layer by layer, by name: the order of `llama-quantize`. */
const byLayerAndName = (a: PlacedTensor, b: PlacedTensor): number =>
  layerOf(a.name) - layerOf(b.name) || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));

/** Where a conversion reads and where it writes, known without touching the weights. */
export interface Conversion {
  readonly file: GgufFile;
  readonly target: TargetFormat;
  readonly header: Header;
}

/** Plans a conversion. Throws an InputError with `conversionProblems` when there are any. */
export function planConversion(file: GgufFile, target: TargetFormat): Conversion {
  const problems = conversionProblems(file, target);
  if (problems.length > 0) throw new InputError(problems);
  const replaced = new Set([
    'general.quantization_version',
    'general.file_type',
    'split.no',
    'split.count',
    'split.tensors.count',
  ]);
  const entries = [
    ...file.entries.filter(({ key }) => !replaced.has(key)),
    uint32('general.quantization_version', 2),
    uint32('general.file_type', fileTypeOf(target)),
  ];
  const shapes = [...file.tensors]
    .sort(byLayerAndName)
    .map((tensor) => ({ name: tensor.name, shape: tensor.shape, format: formatFor(tensor, target) }));
  return { file, target, header: layOut(entries, shapes, file.alignment) };
}

/**
 * Writes the converted file, a few megabytes at a time, so that a model of any size needs little memory; whole or not at
 * all. Throws what `writeNewFile` throws, and an InputError when the source loses bytes meanwhile.
 */
export async function convert(
  { file, header }: Conversion,
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const sources = new Map(file.tensors.map((tensor) => [tensor.name, tensor]));
  const source = await open(file.path, 'r');
  try {
    await writeNewFile(path, signal, async (write) => {
      await write(header.bytes);
      for (const tensor of header.tensors) {
        const from = sources.get(tensor.name) ?? tensor;
        const elements = elementsOf(tensor.shape);
        for (let done = 0; done < elements; done += chunkElements) {
          const count = Math.min(chunkElements, elements - done);
          const bytes = await readExactly(
            source,
            file.path,
            from.start + bytesOf(from.format, done),
            bytesOf(from.format, count),
          );
          await write(recoded(bytes, from.format, tensor.format));
        }
        await write(paddingAfter(tensor.bytes, file.alignment));
      }
    });
  } finally {
    await source.close();
  }
}

function recoded(bytes: Uint8Array, from: NumberFormat, to: NumberFormat): Uint8Array {
  if (from.id === to.id) return bytes;
  const target = targetFormats.find((name) => name === to.name);
  if (!isPlainFormat(from.name) || !target) throw new RangeError(`no conversion from ${from.name} to ${to.name}`);
  return encodeNumbers(decodeNumbers(bytes, from.name), target);
}

async function readExactly(
  source: { read(buffer: Uint8Array, offset: number, length: number, at: number): Promise<{ bytesRead: number }> },
  path: string,
  start: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await source.read(bytes, filled, length - filled, start + filled);
    if (bytesRead === 0)
      throw new InputError([
        {
          place: `${path}, byte ${start + filled}`,
          message: 'the file became shorter while it was read',
          hint: 'let nothing else write to it, and try again',
        },
      ]);
    filled += bytesRead;
  }
  return bytes;
}
