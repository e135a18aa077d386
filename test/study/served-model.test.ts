import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { freePort } from '../../src/processes/ports.ts';
import { checkServedModels, servedName } from '../../src/study/served-model.ts';
import { engineServer } from '../engines/engine-server.ts';

const signal = AbortSignal.timeout(60_000);
const url = 'http://127.0.0.1:8000';

describe('the name under which a server serves the model', () => {
  it.each([
    ['Qwen/Qwen3-14B', [{ name: 'Qwen/Qwen3-14B' }], 'Qwen/Qwen3-14B'],
    ['Qwen/Qwen3-14B', [{ name: 'lora' }, { name: 'Qwen/Qwen3-14B' }], 'Qwen/Qwen3-14B'],
    ['Qwen/Qwen3-14B', [{ name: 'prod', root: 'Qwen/Qwen3-14B' }], 'prod'],
    ['Qwen/Qwen3-14B', [{ name: 'qwen3-14b' }], 'qwen3-14b'],
    ['Qwen3-14B', [{ name: '/models/Qwen3-14B/' }], '/models/Qwen3-14B/'],
  ])('of %s in %j is %s', (model, served, name) => {
    expect(servedName(served, { url, model })).toBe(name);
  });

  it.each([
    ['Qwen/Qwen3-14B', [{ name: 'tiny-qwen3' }]],
    ['Qwen/Qwen3-14B', [{ name: 'unsloth/Qwen3-14B' }]],
    ['Qwen3-14B', [{ name: 'NotQwen3-14B', root: '/models/Qwen3-14B-AWQ' }]],
  ])('of %s in %j is none', (model, served) => {
    expect(() => servedName(served, { url, model })).toThrow(InputError);
    expect(servedName(served, { url, model, served_model_name: served[0]?.name ?? '' })).toBe(served[0]?.name);
    expect(() => servedName(served, { url, model, served_model_name: 'other' })).toThrow(/serves .*, not other/);
  });
});

describe('a study of a server that serves another model', () => {
  const study = (at: URL, named?: string) => ({
    model: 'Qwen/Qwen3-14B',
    engines: [
      'vllm',
      { name: 'external', host: 'local' as const, url: at.href, ...(named ? { served_model_name: named } : {}) },
    ],
  });
  const list = JSON.stringify({ object: 'list', data: [{ id: 'tiny-qwen3' }] });

  it('is refused with both names, unless it says that name itself', async () => {
    await using server = await engineServer({ 'GET /v1/models': [[200, list]] });
    const refused = await checkServedModels(study(server.url), signal).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InputError);
    expect(refused).toMatchObject({
      problems: [{ place: 'model', message: `${server.url.href} serves tiny-qwen3, not Qwen/Qwen3-14B` }],
    });
    await checkServedModels(study(server.url, 'tiny-qwen3'), signal);
  });

  it('is not refused where nothing can be told yet', async () => {
    await using server = await engineServer({ 'GET /v1/models': [[200, '{"data": []}']] });
    await checkServedModels(study(server.url), signal);
    await checkServedModels(study(new URL(`http://127.0.0.1:${await freePort()}`)), signal);
  });
});
