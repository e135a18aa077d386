/** Copies of the weights for other programs, in folders of their own. */
const otherFolders = /^(?:original|metal|onnx|openvino|coreml|tflite)\//i;
/** Weights for other programs, what is left over from training, and pictures. */
const otherFiles = [
  /\.(?:h5|msgpack|ot|onnx|onnx_data|tflite|mlmodel|mlpackage|ckpt|npz|engine|nemo)$/i,
  /(?:^|\/)(?:training_args|optimizer|scheduler|scaler|rng_state[^/]*)\.(?:bin|pt|pth)$/i,
  /\.(?:png|jpe?g|gif|webp|svg|mp4|mov|wav|mp3|pdf)$/i,
  /(?:^|\/)\.git(?:attributes|ignore)$/,
];
/** The first kind that a repository has is what engines load; they ask for it by these endings, in this order. */
const weightKinds = [/\.safetensors$/i, /\.bin$/i, /\.(?:pt|pth)$/i, /\.gguf$/i];

export const isWeights = (path: string): boolean => weightKinds.some((kind) => kind.test(path));

/**
 * The files of a repository that an engine reads, in the order in which they are wanted: the small ones first. Where
 * Mistral's own layout of the weights (`consolidated*.safetensors`) lies beside the usual one, both are: some engines
 * read this one, some that. Of GGUF files one is taken, with all of its parts: the one that `pick` names, else `Q4_K_M`,
 * which is llama-server's default, else the first. Empty where `pick` names nothing.
 */
export function neededFiles(paths: readonly string[], pick: string | null, withWeights = true): readonly string[] {
  const candidates = paths.filter((path) => !otherFolders.test(path) && !otherFiles.some((other) => other.test(path)));
  const small = candidates.filter((path) => !isWeights(path));
  const kind = pick === null ? weightKinds.find((k) => candidates.some((path) => k.test(path))) : /\.gguf$/i;
  const weights = kind === undefined ? [] : candidates.filter((path) => kind.test(path));
  if (kind?.source !== /\.gguf$/i.source) return withWeights ? [...small, ...weights] : small;
  const chosen = ggufFiles(weights, pick);
  if (chosen.length === 0) return [];
  return withWeights ? [...small, ...chosen] : small;
}

/** One model of several in GGUF; a model in parts has `-00001-of-00003` at the end of each name. */
function ggufFiles(paths: readonly string[], pick: string | null): readonly string[] {
  const models = new Map<string, string[]>();
  for (const path of [...paths].sort()) {
    // A projector for images is no model by itself.
    if (/(?:^|\/)mmproj[^/]*$/i.test(path)) continue;
    const model = path.replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, '');
    models.set(model, [...(models.get(model) ?? []), path]);
  }
  const all = [...models];
  const named = (word: string) =>
    all.find(([model, parts]) => parts.includes(word) || new RegExp(`(?:^|[-._/])${escaped(word)}$`, 'i').test(model));
  const found = pick === null ? (named('Q4_K_M') ?? all[0]) : named(pick);
  return found?.[1] ?? [];
}

const escaped = (word: string): string => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
