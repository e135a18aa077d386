import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Environment, hubHomeIn } from '../kit/hub-cache.ts';
import { askHub, type Hub, jsonIn, type Listing, modelProblem } from './listing.ts';
import { isPlainPath } from './reference.ts';

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));

/** `GET /api/models/ID/revision/REVISION?blobs=true`; a file kept by Git LFS has the hash of its content. */
const modelInfo = z.object({
  sha: hex(40),
  gated: z.union([z.boolean(), z.string()]).optional(),
  siblings: z.array(
    z.object({
      rfilename: z.string().refine(isPlainPath),
      size: z.int().min(0),
      blobId: hex(40),
      lfs: z.object({ sha256: hex(64) }).nullish(),
    }),
  ),
});

/** Root of the hub, or of a mirror of it (`HF_ENDPOINT`). */
export const hubRoot = ({ HF_ENDPOINT }: Environment): string =>
  (HF_ENDPOINT || 'https://huggingface.co').replace(/\/+$/, '');

/** `HF_TOKEN`, else the token that `hf auth login` left; null for none. */
export async function hubToken(environment: Environment): Promise<string | null> {
  const given = environment.HF_TOKEN || environment.HUGGING_FACE_HUB_TOKEN;
  if (given) return given.trim();
  const home = hubHomeIn(environment);
  const path = environment.HF_TOKEN_PATH || (home && join(home, 'token'));
  const kept = path ? await readFile(path, 'utf8').catch(() => '') : '';
  return kept.trim() || null;
}

export const huggingFace: Hub = {
  name: 'Hugging Face',

  async headers(environment) {
    const token = await hubToken(environment);
    return token === null ? {} : { authorization: `Bearer ${token}` };
  },

  fileUrl: (id, revision, path, environment) =>
    `${hubRoot(environment)}/${id}/resolve/${encodeURIComponent(revision ?? 'main')}/${encodedPath(path)}`,

  async list(id, revision, environment, signal): Promise<Listing> {
    const root = hubRoot(environment);
    const headers = await this.headers(environment);
    const wanted = encodeURIComponent(revision ?? 'main');
    const url = `${root}/api/models/${id}/revision/${wanted}?blobs=true`;
    const answer = await askHub(url, { headers, environment, signal });
    if (answer.statusCode !== 200) {
      answer.destroy();
      throw refused(
        id,
        revision,
        root,
        { status: answer.statusCode ?? 0, code: answer.headers['x-error-code'] },
        headers,
      );
    }
    const { sha, gated, siblings } = await jsonIn(answer, modelInfo, url);
    const files = siblings.map(({ rfilename, size, blobId, lfs }) => ({
      path: rfilename,
      bytes: size,
      sha256: lfs?.sha256 ?? null,
      // Of a file kept by Git LFS it would be the name of the note that stands for it.
      gitBlob: lfs ? null : blobId,
      // Of the commit and not of the branch, which may move on while files are being downloaded.
      url: this.fileUrl(id, sha, rfilename, environment),
    }));
    return { commit: sha, gated: gated !== undefined && gated !== false, files };
  },
};

/**
 * Anybody may list the files of a gated repository; whether one may be had is known by asking for it. Throws an
 * InputError where it may not.
 */
export async function proveAccess(
  id: string,
  url: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<void> {
  const headers = await huggingFace.headers(environment);
  const answer = await askHub(url, { method: 'HEAD', stay: true, headers, environment, signal });
  answer.destroy();
  const { statusCode: status = 0 } = answer;
  if (status === 401 || status === 403) {
    throw refused(id, null, hubRoot(environment), { status, code: 'GatedRepo' }, headers);
  }
}

/** The hub answers 401 to nobody for a repository that is private as well as for one that does not exist. */
function refused(
  id: string,
  revision: string | null,
  root: string,
  { status, code }: { readonly status: number; readonly code: string | string[] | undefined },
  headers: Readonly<Record<string, string>>,
) {
  const known = 'authorization' in headers;
  if (code === 'RevisionNotFound') {
    return modelProblem(id, `${root} has no revision ${revision ?? 'main'} of it`, `see ${root}/${id}/tree/main`);
  }
  if (code === 'GatedRepo' || status === 403) {
    const accept = `accept its terms at ${root}/${id}`;
    return known
      ? modelProblem(id, `its terms are not accepted, or HF_TOKEN may not read it (${status})`, `${accept} as the token’s user; wait where its authors have to agree`) // biome-ignore format: short
      : modelProblem(id, `its terms have to be accepted before it can be downloaded (${status})`, `${accept}, and set HF_TOKEN to a token that may read it`); // biome-ignore format: short
  }
  const hint = known
    ? 'check the name; if it is private, check that HF_TOKEN is valid and may read it'
    : 'check the name; if it is private, set HF_TOKEN to a token that may read it';
  return modelProblem(id, `${root} has no such model, or it is private (${status})`, hint);
}

const encodedPath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
