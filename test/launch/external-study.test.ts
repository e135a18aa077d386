import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { servetune } from '../cli/command.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { emptyFolder, modelFolder } from './stand-in.ts';

beforeAll(expectFreshBuild);

it('a server that nobody has started is told of within seconds, and no run is begun', async () => {
  const dir = emptyFolder();
  const url = `http://127.0.0.1:${await freePort()}/`;
  const path = join(dir, 'study.yaml');
  const load = 'random_input_len: 16, random_output_len: 8, num_prompts: 8, max_concurrency: 4';
  writeFileSync(
    path,
    `name: there\nmodel: ${modelFolder()}\nengines: [{ name: external, url: "${url}" }]\nbaseline: { engine: external }
stages: []\nworkloads: [{ name: chat, ${load} }]\n`,
  );
  const began = performance.now();
  const { code, stderr } = await servetune(['tune', path], { cwd: dir });
  expect(code).toBe(2);
  expect(stderr).toContain(`${url}: refuses connections`);
  expect(stderr).toContain('start the server, or correct its url');
  expect(performance.now() - began).toBeLessThan(25_000);
  expect(existsSync(join(dir, 'runs'))).toBe(false);
}, 40_000);
