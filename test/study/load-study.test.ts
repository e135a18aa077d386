import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadStudy } from '../../src/study/load-study.ts';
import { engineServer } from '../engines/engine-server.ts';
import { emptyFolder, modelFolder, standIns } from '../launch/stand-in.ts';

const signal = AbortSignal.timeout(60_000);

function study(engine: string, name: string, stages: string): string {
  const path = join(emptyFolder(), 'study.yaml');
  writeFileSync(
    path,
    `
name: small
model: ${modelFolder()}
engines: [${engine}]
baseline: { engine: ${name} }
stages: [${stages}]
workloads: [{ name: chat, random_input_len: 16, random_output_len: 8, num_prompts: 8, max_concurrency: 4 }]
`,
  );
  return path;
}

describe('the flags of an engine', () => {
  const { env } = standIns({ removedFlags: ['--max-num-seqs'] });
  const load = (isBegun: boolean) =>
    loadStudy(study('vllm', 'vllm', '{ name: one, alternatives: [{ max_running_requests: 8 }] }'), env, signal, {
      isBegun: () => isBegun,
    });

  it('are checked before a run begins', async () => {
    await expect(load(false)).rejects.toThrow('--max-num-seqs');
  });

  it('are not asked for again when it goes on, unlike the version', async () => {
    const { space } = await load(true);
    expect(space.baseline).toEqual({ engine: 'vllm', version: '0.25.1', settings: {} });
  });
});

describe('a server that runs already', () => {
  const load = async (entry: string) => await loadStudy(study(entry, 'external', ''), {}, signal);

  it('has the version that it tells', async () => {
    await using server = await engineServer({ 'GET /version': [[200, '{"version":"0.25.1"}']] });
    const { space } = await load(`{ name: external, url: "${server.url.href}" }`);
    expect(space.baseline).toEqual({ engine: 'external', version: '0.25.1', settings: {} });
    const other = load(`{ name: external, version: "0.11.0", url: "${server.url.href}" }`);
    await expect(other).rejects.toThrow('has version 0.25.1, not 0.11.0');
  });

  it('is taken as what the study says, or as unknown, where it tells none', async () => {
    await using server = await engineServer({});
    const plain = await load(`{ name: external, url: "${server.url.href}" }`);
    expect(plain.space.baseline.version).toBe('unknown');
    const named = await load(`{ name: external, version: "0.11.0", url: "${server.url.href}" }`);
    expect(named.space.baseline.version).toBe('0.11.0');
  });
});
