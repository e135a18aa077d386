import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { downloadCheckpoint } from '../../src/weights/fetch.ts';
import { pickled } from '../../src/weights/model-scope.ts';
import { resolveCheckpoint } from '../../src/weights/resolve.ts';
import { modelShape } from '../../src/weights/shape.ts';
import { noise, standInHub } from './hub.ts';
import { emptyFolder, signal, wordsOf } from './models.ts';

const config = JSON.stringify({
  num_attention_heads: 8,
  num_hidden_layers: 4,
  hidden_size: 64,
  max_position_embeddings: 100,
});
const files = {
  'config.json': Buffer.from(config),
  'model.safetensors': noise(100_000, 'scope'),
  'sub/vocab.txt': Buffer.from('words'),
};

it.each(['VLLM_USE_MODELSCOPE', 'SGLANG_USE_MODELSCOPE'])('with %s, models come from ModelScope', async (name) => {
  await using hub = await standInHub({ 'org/two-1.5B': { commit: '', files } });
  const cache = emptyFolder();
  const environment = {
    [name]: 'true',
    MODELSCOPE_DOMAIN: hub.url,
    MODELSCOPE_CACHE: cache,
    MODELSCOPE_API_TOKEN: 'ms-1',
  };
  expect(await modelShape('org/two-1.5B', environment, signal)).toMatchObject({ attentionHeads: 8, maxPositions: 100 });
  const found = await resolveCheckpoint('org/two-1.5B', environment, signal);
  const folder = join(cache, 'models/org/two-1___5B');
  expect(found).toMatchObject({ source: 'modelscope', folder, path: folder, commit: null });
  expect(found.missingBytes).toBe(found.bytes);

  hub.flaws.set('model.safetensors', [{ breakAfter: 70_000 }]);
  await downloadCheckpoint(found, { environment, signal, retryWaitS: 0.001 });
  for (const [path, content] of Object.entries(files)) {
    expect(readFileSync(join(folder, path)).equals(content), path).toBe(true);
  }
  expect(readdirSync(folder).sort()).toEqual(['.msc', 'config.json', 'model.safetensors', 'sub']);
  expect(readFileSync(join(folder, '.msc'), 'utf8')).toContain('sub/vocab.txt');
  expect(hub.asked.map(({ headers }) => headers.cookie)).toContain('m_session_id=ms-1');
  expect(hub.asked.some(({ headers }) => headers.range === 'bytes=70000-')).toBe(true);

  const offline = { ...environment, MODELSCOPE_DOMAIN: 'http://127.0.0.1:1', HF_HUB_OFFLINE: '1' };
  expect(await resolveCheckpoint('org/two-1.5B', offline, signal)).toMatchObject({ folder, missingBytes: 0 });
});

it('says what to do about a model that ModelScope does not have', async () => {
  await using hub = await standInHub({});
  const environment = { VLLM_USE_MODELSCOPE: '1', MODELSCOPE_DOMAIN: hub.url, HOME: emptyFolder() };
  expect(await wordsOf(resolveCheckpoint('org/none', environment, signal))).toMatch(
    /no such model.*unset VLLM_USE_MODELSCOPE/,
  );
});

it('refuses a changed content although the hub has no commits', async () => {
  await using hub = await standInHub({ 'org/two': { commit: '', files } });
  const environment = { VLLM_USE_MODELSCOPE: '1', MODELSCOPE_DOMAIN: hub.url, MODELSCOPE_CACHE: emptyFolder() };
  const found = await resolveCheckpoint('org/two', environment, signal);
  mkdirSync(found.folder, { recursive: true });
  writeFileSync(join(found.folder, 'config.json'), config);
  hub.flaws.set('model.safetensors', [{ content: noise(100_000, 'changed') }]);
  expect(await wordsOf(downloadCheckpoint(found, { environment, signal }))).toMatch(/wrong_checksum/);
  expect(readdirSync(found.folder)).toEqual(['config.json', 'sub']);
});

it('writes the index as Python reads it', () => {
  // Read by Python 3.12: pickle.loads gives [{'Path': 'a/ü.txt', 'Revision': 'r'}, {'Path': 'b', 'Revision': ''}].
  expect(
    Buffer.from(
      pickled([
        { Path: 'a/ü.txt', Revision: 'r' },
        { Path: 'b', Revision: '' },
      ]),
    ).toString('latin1'),
  ).toBe(
    '\x80\x02](' +
      '}(X\x04\0\0\0PathX\x08\0\0\0a/\xc3\xbc.txtX\x08\0\0\0RevisionX\x01\0\0\0ru' +
      '}(X\x04\0\0\0PathX\x01\0\0\0bX\x08\0\0\0RevisionX\0\0\0\0u' +
      'e.',
  );
});
