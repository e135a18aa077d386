import os from 'node:os';
import { tinyModelName } from '../../engines/embedded/model/tiny-model.ts';
import type { Environment } from '../../engines/engine.ts';
import { InputError, ServetuneError } from '../../kit/errors.ts';
import { formatBytes, formatNumber } from '../../kit/words.ts';
import type { Gpu } from '../../records/gpu.ts';
import type { ModelShape } from '../../records/model-shape.ts';
import { type Checkpoint, spaceProblems } from '../../weights/checkpoint.ts';
import { resolveCheckpoint } from '../../weights/resolve.ts';
import { modelShape } from '../../weights/shape.ts';
import { weightShare } from '../init/parallel.ts';
import { localModelProblems } from '../model-files.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/** Whether a model is to be had, and whether it fits here. */
export async function modelFindings(
  model: string,
  {
    environment,
    signal,
    gpus,
  }: { readonly environment: Environment; readonly signal: AbortSignal; readonly gpus: readonly Gpu[] },
): Promise<readonly Finding[]> {
  if (model === tinyModelName) return [ok('model', `${model} is made here, without a download`)];
  let checkpoint: Checkpoint;
  try {
    checkpoint = await resolveCheckpoint(model, environment, signal);
  } catch (error) {
    signal.throwIfAborted();
    return refusals(error);
  }
  const broken = await localModelProblems(model, environment);
  if (broken.length > 0) return refusals(new InputError(broken));
  const shape = await modelShape(model, environment, signal);
  return [
    checkpointFinding(checkpoint),
    ...downloadFindings(checkpoint),
    ...(shape === null ? [] : [ok('shape', shapeText(shape))]),
    fitFinding(checkpoint, gpus, os.totalmem()),
  ];
}

function refusals(error: unknown): readonly Finding[] {
  if (error instanceof InputError) {
    return error.problems.map(({ message, hint }) => problem('model', message, hint ?? 'check its name'));
  }
  if (error instanceof ServetuneError) return [problem('model', error.message, error.hint ?? 'check its name')];
  throw error;
}

function checkpointFinding({ name, files, bytes, commit, gated, source }: Checkpoint): Finding {
  const pinned = commit === null ? '' : `, commit ${commit.slice(0, 12)}`;
  const access = gated ? ', gated, and may be read' : '';
  const from = source === 'folder' || source === 'gguf' ? '' : `, from ${source}`;
  return ok('model', `${name}: ${formatBytes(bytes, 'en')} in ${files.length} files${from}${pinned}${access}`);
}

function downloadFindings(checkpoint: Checkpoint): readonly Finding[] {
  const { missingBytes, folder } = checkpoint;
  if (missingBytes === 0) return [ok('download', `is here: ${folder}`)];
  const [full] = spaceProblems([checkpoint]);
  if (full !== undefined) return [problem('download', full.message, full.hint ?? 'make room')];
  return [note('download', `${formatBytes(missingBytes, 'en')} are still to be downloaded, into ${folder}`)];
}

const shapeText = ({ layers, attentionHeads, kvHeads, maxPositions, experts, quantization }: ModelShape): string =>
  [
    `${layers} layers`,
    `${attentionHeads} heads, ${kvHeads} of them for KV`,
    `${formatNumber(maxPositions, 'en')} tokens of context`,
    ...(experts > 0 ? [`${experts} experts`] : []),
    ...(quantization === null ? [] : [`weights quantized by ${quantization}`]),
  ].join(', ');

/** Whether the weights leave room for a KV cache. Without a GPU they go into main memory. */
export function fitFinding(
  { bytes }: Pick<Checkpoint, 'bytes'>,
  gpus: readonly Pick<Gpu, 'memoryMiB'>[],
  mainMemoryBytes: number,
): Finding {
  const what = 'fit';
  const size = formatBytes(bytes, 'en');
  const smaller = 'take a quantized checkpoint, or a smaller model';
  if (gpus.length === 0) {
    if (bytes < mainMemoryBytes)
      return ok(what, `${size} of weights in ${formatBytes(mainMemoryBytes, 'en')} of memory`);
    return problem(what, `${size} of weights are more than this machine's memory`, smaller);
  }
  const each = Math.min(...gpus.map(({ memoryMiB }) => memoryMiB)) * 1024 ** 2;
  const needed = Math.ceil(bytes / (weightShare * each));
  if (needed <= 1) return ok(what, `${size} of weights on a GPU of ${formatBytes(each, 'en')}`);
  if (needed <= gpus.length)
    return note(what, `${size} of weights need ${needed} of the GPUs together`, 'set tensor_parallel');
  return problem(what, `${size} of weights do not fit ${gpus.length} x ${formatBytes(each, 'en')}`, smaller);
}
