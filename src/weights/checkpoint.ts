import { join } from 'node:path';
import type { Problem } from '../kit/errors.ts';
import { formatBytes } from '../kit/words.ts';

/** A file that an engine needs of a checkpoint. */
export interface CheckpointFile {
  /** Below `Checkpoint.folder`. */
  readonly path: string;
  readonly bytes: number;
  /** In hex; null where it is not known beforehand. */
  readonly sha256: string | null;
  /** Git's name of the content; null where it is not known beforehand. */
  readonly gitBlob: string | null;
  /** How much of it is here already; a file that was begun counts with what has arrived. */
  readonly presentBytes: number;
  /** Null where it is not taken from a hub. */
  readonly url: string | null;
  readonly revision?: string;
}

/** The weights that a name stands for: what they consist of, what of it is here, and where it lies or will lie. */
export interface Checkpoint {
  readonly name: string;
  readonly source: 'folder' | 'gguf' | 'hugging-face' | 'modelscope';
  /** Name on the hub, without a revision; null of local files. */
  readonly id: string | null;
  /** As it was asked for; null for the hub's main one. */
  readonly revision: string | null;
  /** The commit that it is pinned to; null where there are none. */
  readonly commit: string | null;
  /** Its terms had to be accepted. */
  readonly gated: boolean;
  readonly files: readonly CheckpointFile[];
  readonly bytes: number;
  /** What the disk must still take. */
  readonly missingBytes: number;
  /** What the disk below `folder` can take; null where the system does not tell. */
  readonly freeBytes: number | null;
  /** Where the files lie, or will lie once they are downloaded. */
  readonly folder: string;
  /** What to name to an engine that shall read exactly this: the folder, or the GGUF file. */
  readonly path: string;
}

/** Disks that cannot hold what is still to be downloaded, all checkpoints together. */
export function spaceProblems(checkpoints: readonly Checkpoint[]): readonly Problem[] {
  const sources = new Map<Checkpoint['source'], Checkpoint[]>();
  for (const one of checkpoints) sources.set(one.source, [...(sources.get(one.source) ?? []), one]);
  return [...sources].flatMap(([source, all]) => {
    // The cache of a hub is one folder on one disk.
    const wanting = all.filter(({ missingBytes }) => missingBytes > 0);
    const missing = wanting.reduce((sum, { missingBytes }) => sum + missingBytes, 0);
    const [{ freeBytes: free, folder } = { freeBytes: null, folder: '' }] = wanting;
    if (free === null || missing <= free) return [];
    const [need, have] = [formatBytes(missing, 'en'), formatBytes(free, 'en')];
    const variable = source === 'modelscope' ? 'MODELSCOPE_CACHE' : 'HF_HOME';
    return [
      {
        place: wanting.map(({ name }) => `model ${name}`).join(', '),
        message: `${need} are still to be downloaded, and the disk of ${folder} has room for ${have}`,
        hint: `make room, or set ${variable} to a folder on another disk`,
      },
    ];
  });
}

/** The name that the hub's cache keeps a file's content under. */
export const blobName = ({ sha256, gitBlob }: Pick<CheckpointFile, 'sha256' | 'gitBlob'>): string =>
  sha256 ?? gitBlob ?? '';

/** Where the hub's cache keeps contents, seen from a snapshot's folder. */
export const blobFolder = (snapshot: string): string => join(snapshot, '../../blobs');

/** The unfinished file beside the one to be: not the name of the hub's own client, which may be at work as well. */
export const unfinished = (path: string): string => `${path}.servetune.incomplete`;

/** Two files with the same content are downloaded once. */
export function missingOf(files: readonly CheckpointFile[]): number {
  const missing = new Map(files.map((file) => [blobName(file) || file.path, file.bytes - file.presentBytes]));
  return [...missing.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Engines take a folder, or the first part of a GGUF file. */
export function engineName(folder: string, files: readonly { readonly path: string }[]): string {
  const gguf = files
    .map(({ path }) => path)
    .filter((path) => /\.gguf$/i.test(path))
    .sort()[0];
  return gguf === undefined ? folder : join(folder, gguf);
}
