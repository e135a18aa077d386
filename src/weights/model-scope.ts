import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../kit/files.ts';
import { type Environment, expanded, isOn } from '../kit/hub-cache.ts';
import { askHub, type Hub, jsonIn, type ListedFile, modelProblem } from './listing.ts';
import { isPlainPath } from './reference.ts';

/** `GET /api/v1/models/ID/repo/files`; folders are listed as well. */
const fileList = z.object({
  Data: z.object({
    Files: z.array(
      z.object({
        Path: z.string().refine(isPlainPath),
        Size: z.int().min(0),
        Type: z.string(),
        Sha256: z.string().nullish(),
        Revision: z.string().nullish(),
      }),
    ),
  }),
});

/** Engines take models from ModelScope then, all of them by the name that the model has there. */
export const usesModelScope = (environment: Environment): boolean =>
  isOn(environment.VLLM_USE_MODELSCOPE) || isOn(environment.SGLANG_USE_MODELSCOPE);

/** The branch that models are taken from, unless another one is named. */
const mainBranch = 'master';

function rootOf({ MODELSCOPE_DOMAIN }: Environment): string {
  const domain = MODELSCOPE_DOMAIN || 'www.modelscope.cn';
  return (domain.includes('://') ? domain : `https://${domain}`).replace(/\/+$/, '');
}

/** Its versions are branches and tags, without a commit to pin to; what is downloaded is held to the hashes it lists. */
export const modelScope: Hub = {
  name: 'ModelScope',

  async headers({ MODELSCOPE_API_TOKEN: token }) {
    return token ? { cookie: `m_session_id=${token}` } : {};
  },

  fileUrl: (id, revision, path, environment) =>
    `${rootOf(environment)}/api/v1/models/${id}/repo?${new URLSearchParams({ Revision: revision ?? mainBranch, FilePath: path })}`,

  async list(id, revision, environment, signal) {
    const root = rootOf(environment);
    const headers = await this.headers(environment);
    const query = new URLSearchParams({ Revision: revision ?? mainBranch, Recursive: 'True' });
    const url = `${root}/api/v1/models/${id}/repo/files?${query}`;
    const answer = await askHub(url, { headers, environment, signal });
    if (answer.statusCode !== 200) {
      answer.destroy();
      const of = revision === null ? '' : ` with a revision ${revision}`;
      throw modelProblem(
        id,
        `${root} has no such model${of}, or it is not open to you (${answer.statusCode})`,
        'check the name, set MODELSCOPE_API_TOKEN, or unset VLLM_USE_MODELSCOPE to take it from Hugging Face',
      );
    }
    const { Data } = await jsonIn(answer, fileList, url);
    const files = Data.Files.filter(({ Type }) => Type !== 'tree').map(({ Path, Size, Sha256, Revision }) => ({
      path: Path,
      bytes: Size,
      sha256: Sha256 && /^[0-9a-f]{64}$/.test(Sha256) ? Sha256 : null,
      gitBlob: null,
      url: this.fileUrl(id, revision, Path, environment),
      revision: Revision ?? '',
    }));
    return { commit: null, gated: false, files };
  },
};

/** Where ModelScope's program keeps a model; null where the environment tells nothing. */
export function modelScopeFolder(id: string, environment: Environment): string | null {
  const { MODELSCOPE_CACHE: given, HOME } = environment;
  const cache = given ? expanded(given, environment) : HOME && join(HOME, '.cache/modelscope/hub');
  const [owner = '', name = ''] = id.split('/');
  return cache ? join(cache, 'models', owner, name.replaceAll('.', '___')) : null;
}

/** The index of what was downloaded, without which ModelScope's program downloads everything again. */
export const writeIndex = (folder: string, files: readonly Pick<ListedFile, 'path' | 'revision'>[]): void =>
  writeFileAtomic(
    join(folder, '.msc'),
    pickled(files.map(({ path, revision = '' }) => ({ Path: path, Revision: revision }))),
  );

/** A list of dictionaries of texts as Python's `pickle` writes it (protocol 2). */
export function pickled(rows: readonly Readonly<Record<string, string>>[]): Uint8Array {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, 'utf8');
    const head = Buffer.from('X\0\0\0\0', 'latin1');
    head.writeUInt32LE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  };
  const row = (entries: Readonly<Record<string, string>>): readonly Buffer[] => [
    Buffer.from('}('),
    ...Object.entries(entries).flatMap((entry) => entry.map(text)),
    Buffer.from('u'),
  ];
  return Buffer.concat([Buffer.from('\x80\x02](', 'latin1'), ...rows.flatMap(row), Buffer.from('e.')]);
}
