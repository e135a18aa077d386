/** How the numbers of a tensor are stored: blocks of `blockElements` numbers in `blockBytes` bytes. */
export interface NumberFormat {
  readonly name: string;
  /** What a tensor's entry in a GGUF file says (`enum ggml_type`). */
  readonly id: number;
  readonly blockElements: number;
  readonly blockBytes: number;
}

const format = (id: number, name: string, blockElements: number, blockBytes: number): NumberFormat => ({
  id,
  name,
  blockElements,
  blockBytes,
});

/** Every format that GGUF files of version 2 and 3 may hold, by the sizes in llama.cpp's `ggml-common.h`. */
const formats: readonly NumberFormat[] = [
  format(0, 'f32', 1, 4),
  format(1, 'f16', 1, 2),
  format(2, 'q4_0', 32, 18),
  format(3, 'q4_1', 32, 20),
  format(6, 'q5_0', 32, 22),
  format(7, 'q5_1', 32, 24),
  format(8, 'q8_0', 32, 34),
  format(9, 'q8_1', 32, 36),
  format(10, 'q2_k', 256, 84),
  format(11, 'q3_k', 256, 110),
  format(12, 'q4_k', 256, 144),
  format(13, 'q5_k', 256, 176),
  format(14, 'q6_k', 256, 210),
  format(15, 'q8_k', 256, 292),
  format(16, 'iq2_xxs', 256, 66),
  format(17, 'iq2_xs', 256, 74),
  format(18, 'iq3_xxs', 256, 98),
  format(19, 'iq1_s', 256, 50),
  format(20, 'iq4_nl', 32, 18),
  format(21, 'iq3_s', 256, 110),
  format(22, 'iq2_s', 256, 82),
  format(23, 'iq4_xs', 256, 136),
  format(24, 'i8', 1, 1),
  format(25, 'i16', 1, 2),
  format(26, 'i32', 1, 4),
  format(27, 'i64', 1, 8),
  format(28, 'f64', 1, 8),
  format(29, 'iq1_m', 256, 56),
  format(30, 'bf16', 1, 2),
  format(34, 'tq1_0', 256, 54),
  format(35, 'tq2_0', 256, 66),
  format(39, 'mxfp4', 32, 17),
  format(40, 'nvfp4', 64, 36),
  format(41, 'q1_0', 128, 18),
  format(42, 'q2_0', 64, 18),
];

const byId = new Map(formats.map((f) => [f.id, f]));
const byName = new Map(formats.map((f) => [f.name, f]));

/** The format with this number in a GGUF file, if there is one. */
export const formatOfId = (id: number): NumberFormat | undefined => byId.get(id);

/** Bytes that `elements` numbers take; `elements` is a multiple of the block. */
export const bytesOf = ({ blockElements, blockBytes }: NumberFormat, elements: number): number =>
  (elements / blockElements) * blockBytes;

/** The formats that weights can be turned into here, without loss of time or need of calibration data. */
export const targetFormats = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0'] as const;
export type TargetFormat = (typeof targetFormats)[number];

export const isTargetFormat = (name: string): name is TargetFormat => targetFormats.some((f) => f === name);

/** The format of a name that is known to exist. */
export function formatOf(name: TargetFormat): NumberFormat {
  const found = byName.get(name);
  if (!found) throw new RangeError(`no number format ${name}`);
  return found;
}

/** What the key `general.file_type` of a GGUF file says of its weights (`enum llama_ftype`), as lower-case names. */
const fileTypes = new Map<number, string>([
  [0, 'f32'],
  [1, 'f16'],
  [2, 'q4_0'],
  [3, 'q4_1'],
  [7, 'q8_0'],
  [8, 'q5_0'],
  [9, 'q5_1'],
  [10, 'q2_k'],
  [11, 'q3_k_s'],
  [12, 'q3_k_m'],
  [13, 'q3_k_l'],
  [14, 'q4_k_s'],
  [15, 'q4_k_m'],
  [16, 'q5_k_s'],
  [17, 'q5_k_m'],
  [18, 'q6_k'],
  [19, 'iq2_xxs'],
  [20, 'iq2_xs'],
  [21, 'q2_k_s'],
  [22, 'iq3_xs'],
  [23, 'iq3_xxs'],
  [24, 'iq1_s'],
  [25, 'iq4_nl'],
  [26, 'iq3_s'],
  [27, 'iq3_m'],
  [28, 'iq2_s'],
  [29, 'iq2_m'],
  [30, 'iq4_xs'],
  [31, 'iq1_m'],
  [32, 'bf16'],
  [36, 'tq1_0'],
  [37, 'tq2_0'],
  [38, 'mxfp4'],
  [39, 'nvfp4'],
  [40, 'q1_0'],
  [41, 'q2_0'],
]);

export const fileTypeName = (fileType: number): string | undefined => fileTypes.get(fileType);

/** `general.file_type` of a file whose weights are in this format. */
export const fileTypeOf = (name: TargetFormat): number => ({ f32: 0, f16: 1, bf16: 32, q8_0: 7, q4_0: 2 })[name];
