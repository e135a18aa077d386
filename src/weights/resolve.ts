import { dirname, join } from 'node:path';
import { InputError, type Problem, ServetuneError } from '../kit/errors.ts';
import { type Environment, hubCacheIn, hubModelFolder, hubSnapshot, isOn } from '../kit/hub-cache.ts';
import { formatList } from '../kit/words.ts';
import {
  blobFolder,
  blobName,
  type Checkpoint,
  type CheckpointFile,
  engineName,
  missingOf,
  spaceProblems,
  unfinished,
} from './checkpoint.ts';
import { freeBytes, sizeOf } from './disk.ts';
import { filesIn, type HeldFile, missingIn } from './held.ts';
import { huggingFace, proveAccess } from './hugging-face.ts';
import { type Listing, modelProblem } from './listing.ts';
import { modelScope, modelScopeFolder, usesModelScope } from './model-scope.ts';
import { isWeights, neededFiles } from './needed-files.ts';
import { type Reference, readReference } from './reference.ts';

export interface ResolveOptions {
  /** False where an engine makes up the weights (`--load-format dummy`): configuration and tokenizer are enough. */
  readonly withWeights?: boolean;
}

/**
 * Looks up what a model's name stands for: a folder or a GGUF file here, else a repository of Hugging Face's hub, or of
 * ModelScope where the engines are told to use that. With `HF_HUB_OFFLINE`, and where the hub cannot be reached, only what
 * was downloaded before counts. Files in the cache are known by name and size; they are not read.
 *
 * Throws an InputError for a model that is not there, not for us, damaged, or not in the cache while offline, and a
 * ServetuneError `no_network` or `hub_answer`.
 */
export async function resolveCheckpoint(
  name: string,
  environment: Environment,
  signal: AbortSignal,
  { withWeights = true }: ResolveOptions = {},
): Promise<Checkpoint> {
  const reference = readReference(name, environment);
  switch (reference.kind) {
    case 'folder':
    case 'gguf':
      return localCheckpoint(name, reference, withWeights);
    case 'no file':
      throw modelProblem(name, `${reference.path} does not exist`, 'check the path');
    case 'nonsense':
      throw modelProblem(name, 'this is neither a path nor a name on a hub', 'name it as OWNER/MODEL, or as a folder');
    case 'hub':
      return hubCheckpoint(name, reference, environment, signal, withWeights);
  }
}

/**
 * Looks up several models. Throws an InputError with all that is wrong with any of them, and with disks that cannot hold
 * all that is still to be downloaded.
 */
export async function resolveCheckpoints(
  names: readonly string[],
  environment: Environment,
  signal: AbortSignal,
  options: ResolveOptions = {},
): Promise<readonly Checkpoint[]> {
  const found: Checkpoint[] = [];
  const problems: Problem[] = [];
  for (const name of new Set(names)) {
    try {
      found.push(await resolveCheckpoint(name, environment, signal, options));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof InputError) problems.push(...error.problems);
      else if (error instanceof ServetuneError) {
        const { message, hint } = error;
        problems.push({ place: `model ${name}`, message, ...(hint === undefined ? {} : { hint }) });
      } else throw error;
    }
  }
  problems.push(...spaceProblems(found));
  if (problems.length > 0) throw new InputError(problems);
  return found;
}

async function localCheckpoint(
  name: string,
  { kind, path }: { readonly kind: 'folder' | 'gguf'; readonly path: string },
  withWeights: boolean,
): Promise<Checkpoint> {
  if (kind === 'gguf') {
    if (!/\.gguf$/i.test(path)) {
      throw modelProblem(
        name,
        `${path} is a file, and not one in GGUF`,
        'name the folder of the model, or a .gguf file',
      );
    }
    const bytes = (await sizeOf(path)) ?? 0;
    const folder = dirname(path);
    const file = {
      path: path.slice(folder.length + 1),
      bytes,
      sha256: null,
      gitBlob: null,
      presentBytes: bytes,
      url: null,
    };
    return { ...whole(name, 'gguf', folder), files: [file], bytes, path };
  }
  const held = await filesIn(path);
  const missing = await missingIn(path, held, withWeights);
  if (missing.length > 0) {
    throw modelProblem(name, `${path} lacks ${formatList(shortened(missing), 'en')}`, 'copy or download it once more');
  }
  return { ...whole(name, 'folder', path), ...heldOf(held, path, null, withWeights) };
}

async function hubCheckpoint(
  name: string,
  { id, revision, pick }: Extract<Reference, { kind: 'hub' }>,
  environment: Environment,
  signal: AbortSignal,
  withWeights: boolean,
): Promise<Checkpoint> {
  const fromModelScope = usesModelScope(environment);
  const offline = isOn(environment.HF_HUB_OFFLINE || environment.TRANSFORMERS_OFFLINE);
  const place = fromModelScope ? modelScopeFolder(id, environment) : hubCacheIn(environment);
  if (place === null) {
    const variable = fromModelScope ? 'MODELSCOPE_CACHE' : 'HF_HOME';
    throw modelProblem(name, 'the environment names no folder to keep it in', `set ${variable} or HOME`);
  }
  const source = fromModelScope ? 'modelscope' : 'hugging-face';
  const asked = { name, source, id, revision } as const;
  const cached = async (): Promise<Checkpoint | readonly string[]> => {
    const snapshot = fromModelScope ? { path: place, commit: null } : await hubSnapshot(place, id, revision ?? 'main');
    if (snapshot === null) return ['all of it'];
    const held = await filesIn(snapshot.path);
    if (held.length === 0) return ['all of it'];
    const missing = await missingIn(snapshot.path, held, withWeights);
    if (missing.length > 0) return missing;
    const { files, bytes, path } = heldOf(held, snapshot.path, pick, withWeights);
    if (files.length === 0) return [`a GGUF file ${pick}`];
    return { ...whole(name, source, snapshot.path), ...asked, commit: snapshot.commit, files, bytes, path };
  };
  if (offline) {
    const found = await cached();
    if ('name' in found) return found;
    throw modelProblem(
      name,
      `HF_HUB_OFFLINE is set, and its cache ${place} lacks ${formatList(shortened(found), 'en')}`,
      `unset HF_HUB_OFFLINE, or bring the model into that cache (hf download ${id})`,
    );
  }

  const hub = fromModelScope ? modelScope : huggingFace;
  let listing: Listing;
  try {
    listing = await hub.list(id, revision, environment, signal);
  } catch (error) {
    // Engines start from the cache as well where the hub does not answer, or no longer lists the model for us.
    signal.throwIfAborted();
    const found = await cached();
    if ('name' in found) return found;
    throw error;
  }

  const paths = listing.files.map(({ path }) => path);
  const wanted = neededFiles(paths, pick, withWeights);
  if (wanted.length === 0 || (withWeights && !wanted.some(isWeights))) {
    const gguf = paths.filter((path) => /\.gguf$/i.test(path));
    const hint = gguf.length > 0 ? `it has ${formatList(shortened(gguf), 'en')}` : 'check the name';
    throw modelProblem(name, pick === null ? 'it has no weights' : `it has no GGUF file ${pick}`, hint);
  }
  const folder = fromModelScope ? place : join(hubModelFolder(place, id), 'snapshots', listing.commit ?? '');
  const files: CheckpointFile[] = [];
  for (const path of wanted) {
    const file = listing.files[paths.indexOf(path)];
    if (file) files.push({ ...file, presentBytes: await presentBytes(folder, file, fromModelScope) });
  }
  const missingBytes = missingOf(files);
  const [smallest] = files.filter((f) => f.presentBytes < f.bytes).sort((a, b) => a.bytes - b.bytes);
  if (listing.gated && smallest?.url) await proveAccess(id, smallest.url, environment, signal);
  return {
    ...asked,
    commit: listing.commit,
    gated: listing.gated,
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    missingBytes,
    freeBytes: await freeBytes(folder),
    folder,
    path: engineName(folder, files),
  };
}

async function presentBytes(
  folder: string,
  file: Pick<CheckpointFile, 'path' | 'bytes' | 'sha256' | 'gitBlob'>,
  fromModelScope: boolean,
): Promise<number> {
  const path = join(folder, file.path);
  const blob = fromModelScope ? path : join(blobFolder(folder), blobName(file));
  for (const place of [path, blob]) if ((await sizeOf(place)) === file.bytes) return file.bytes;
  return Math.min((await sizeOf(unfinished(blob))) ?? 0, file.bytes);
}

const whole = (name: string, source: Checkpoint['source'], folder: string) => ({
  name,
  source,
  id: null,
  revision: null,
  commit: null,
  gated: false,
  missingBytes: 0,
  freeBytes: null,
  folder,
  path: folder,
});

function heldOf(held: readonly HeldFile[], folder: string, pick: string | null, withWeights: boolean) {
  const wanted = new Set(
    neededFiles(
      held.map(({ path }) => path),
      pick,
      withWeights,
    ),
  );
  const files = held
    .filter(({ path }) => wanted.has(path))
    .map((file) => ({ ...file, gitBlob: null, presentBytes: file.bytes, url: null }));
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { files, bytes, path: engineName(folder, files) };
}

const shortened = (names: readonly string[]): readonly string[] =>
  names.length <= 4 ? names : [...names.slice(0, 3), `${names.length - 3} more`];
