import type { Environment } from '../engines/engine.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { Checkpoint } from '../weights/checkpoint.ts';
import { downloadCheckpoint } from '../weights/fetch.ts';
import { resolveCheckpoints } from '../weights/resolve.ts';
import { engineNamed } from './places.ts';
import { spanned } from './span.ts';

/**
 * Every checkpoint that a study names, looked up before anything is started: the model itself and its quantized variants.
 * Throws an InputError with all that do not exist, are not for us, or do not fit the disk.
 */
export async function checkpointsOf(
  study: Pick<StudySpec, 'model'>,
  space: SearchSpace,
  environment: Environment,
  signal: AbortSignal,
): Promise<readonly Checkpoint[]> {
  const names = spanned(space).flatMap(({ configuration }) => {
    const { checkpoint } = engineNamed(configuration.engine);
    return checkpoint ? [checkpoint(study.model, configuration.settings)] : [];
  });
  return await resolveCheckpoints(names, environment, signal);
}

/** Downloads what is missing of them, as a step of its own: an engine that downloads would have its start time spoilt. */
export async function fetchWeights(
  checkpoints: readonly Checkpoint[],
  environment: Environment,
  signal: AbortSignal,
  onProgress: (what: string) => void,
): Promise<void> {
  for (const checkpoint of checkpoints) {
    if (checkpoint.missingBytes === 0) continue;
    const total = gigabytes(checkpoint.bytes);
    let told = -1;
    onProgress(`downloading ${checkpoint.name}: ${gigabytes(checkpoint.missingBytes)} of ${total} GB are missing`);
    await downloadCheckpoint(checkpoint, {
      environment,
      signal,
      onProgress: ({ bytes }) => {
        const percent = Math.floor((100 * bytes) / checkpoint.bytes);
        if (percent < told + 5) return;
        told = percent;
        onProgress(`downloading ${checkpoint.name}: ${percent} % of ${total} GB`);
      },
    });
  }
}

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);
