import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reasonAgainst, trialsOf } from '../cli/command.ts';
import { eventually, expectFreshBuild } from '../processes/living.ts';
import { startStudy } from './small-study.ts';
import { emptyFolder, expectNothingLeft, type StandIns, standIns } from './stand-in.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/hosts');
const image = 'stand-in/engine:1';
const dir = emptyFolder();
const socket = join(dir, 'docker.sock');
let ours: StandIns;
let daemon: ChildProcess;
let said = '';

beforeAll(async () => {
  expectFreshBuild();
  ours = standIns({ startS: 0.2, tokenS: 0.01 });
  const images = { [image]: { Id: 'sha256:0001', RepoDigests: ['stand-in/engine@sha256:abcd'] } };
  // A container gets its own environment only: what tells the stand-in how to behave comes from the engine of Docker.
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  const exported = Object.entries(ours.env)
    .filter(([name]) => name !== 'PATH')
    .map(([name, value]) => `export ${name}='${value}'`);
  const program = resolve(import.meta.dirname, '../standins/bin/vllm');
  writeFileSync(join(bin, 'vllm'), `#!/bin/sh\n${exported.join('\n')}\nexec '${program}' "$@"\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  daemon = spawn(process.execPath, [join(fixtures, 'dockerd.mjs'), socket, JSON.stringify(images)], { env });
  daemon.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  daemon.stderr?.pipe(process.stderr);
  await eventually(() => said.includes('ready'));
});
afterAll(() => daemon.kill());

it('a whole study in containers, each gone when the next one comes', async () => {
  const engine = `{ name: vllm, version: "0.25.1", host: docker, image: "${image}" }`;
  const env = {
    PATH: `${fixtures}:${process.env.PATH}`,
    HOME: join(dir, 'home'),
    HF_HOME: join(dir, 'hf'),
    DOCKER_HOST: `unix://${socket}`,
  };
  const study = startStudy(dir, { 101: {} }, { engine, baseline: 'vllm', env, ours });
  const { code, stderr } = await study.ended;
  expect(stderr).not.toContain('fault of servetune');
  expect(code, stderr).toBe(0);
  const trials = trialsOf(study.runDir);
  expect(trials.length).toBeGreaterThan(2);
  expect(trials.map(reasonAgainst).filter(Boolean)).toEqual([]);
  expect(trials[0]?.effectiveSettings).toMatchObject({ image: 'stand-in/engine@sha256:abcd' });
  const events = said.trim().split('\n').map((line) => JSON.parse(line) as { event: string }); // biome-ignore format: one call
  const count = (name: string): number => events.filter(({ event }) => event === name).length;
  expect(count('removed')).toBe(count('created'));
  await expectNothingLeft(ours, study.ports());
}, 120_000);
