import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { SearchSpace } from '../../src/records/space.ts';
import { type StudySpec, studySpec } from '../../src/records/study.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { createStore, type RunStart } from '../../src/store/store.ts';
import { secretsOf } from '../../src/study/secrets.ts';
import { exampleRun } from '../report/fixture.ts';

const flag = 'plain words';
const variable = 'plainvariable';
const environment = { HF_TOKEN: variable, PATH: '/bin' };

const studyWith = (key: string): StudySpec =>
  studySpec.parse({
    name: 'secret',
    model: 'Qwen/Qwen3-14B',
    engines: ['vllm'],
    baseline: { engine: 'vllm', extra_args: `--api-key '${key}' --seed 1` },
    stages: [
      { name: 'one', alternatives: [{ extra_args: `--hf-token=othersecret --api-key "${key}"` }, { dtype: 'half' }] },
    ],
    workloads: [{ name: 'chat', chat_template_kwargs: { api_key: 'inthebody' } }],
  });
const spaceOf = ({ baseline, stages }: StudySpec): SearchSpace => {
  const settings = ({ engine: _, ...rest }: object & { engine?: unknown }) => rest as Record<string, string>;
  return {
    baseline: { engine: 'vllm', settings: settings(baseline) },
    stages: stages.map(({ name, alternatives }) => ({
      name,
      alternatives: alternatives.map((a) => ({ settings: settings(a) })),
    })),
  };
};
const study = studyWith(flag);
const space = spaceOf(study);

const start: RunStart = {
  study,
  studyText: `baseline: { extra_args: "--api-key '${flag}'" } # ${variable}`,
  space,
  machine: exampleRun('none').machine,
  servetuneVersion: '0.1.0',
  simulated: false,
  beganAt: '2026-08-27T08:00:00.000Z',
};
const [made] = exampleRun('all_failed').trials;
const trial: FinishedTrial = {
  ...(made as FinishedTrial),
  configuration: space.baseline,
  servingCommand: ['vllm', 'serve', 'm', '--api-key', flag, '--seed', '1'],
  failure: {
    message: `neither ${variable} nor ${flag} is good`,
    logTail: [`api_key=['${flag}'], told by ${variable}`],
    fragment: [`${flag}!`],
    changed: [{ name: 'extra_args', from: null, to: `--api-key '${flag}'` }],
  },
  effectiveSettings: { api_key: flag },
};
const planted = [flag, variable, 'othersecret', 'inthebody', 'plain', 'words'];

it('stores no secret, and gives settings and study back as the file has them', () => {
  const dir = mkdtempSync(join(tmpdir(), 'servetune-secrets-'));
  const secrets = secretsOf(study, environment);
  using inner = createStore(dir, secrets.concealStart(start));
  const store = secrets.concealing(inner);
  store.begin(trial);
  expect(store.running()[0]?.configuration).toEqual(space.baseline);
  expect(JSON.stringify(inner.running())).not.toContain(flag);
  store.finish(trial);

  const stored = JSON.stringify([inner.start(), inner.finished(), inner.runData()]);
  for (const secret of planted) expect(stored).not.toMatch(new RegExp(`\\b${secret}\\b`));
  expect(inner.finished()[0]?.servingCommand).toEqual([
    'vllm',
    'serve',
    'm',
    '--api-key',
    '<redacted-1>',
    '--seed',
    '1',
  ]);
  expect(store.finished()[0]?.configuration).toEqual(trial.configuration);
  expect(store.start().study).toEqual(study);
  expect(store.start().space).toEqual(space);
});

it('takes a study whose key was changed meanwhile for the same', () => {
  const before = secretsOf(study, environment).concealStart(start);
  const changed = studyWith('another key');
  expect(secretsOf(changed, {}).concealStart({ ...start, study: changed, space: spaceOf(changed) }).study).toEqual(
    before.study,
  );
});

it('leaves a study without secrets as it is', () => {
  const plain = studySpec.parse({ ...study, baseline: { engine: 'vllm' }, stages: [], workloads: [{ name: 'chat' }] });
  const none = secretsOf(plain, {});
  expect(
    none.concealStart({
      ...start,
      study: plain,
      studyText: 'x',
      space: { ...space, stages: [], baseline: { engine: 'vllm', settings: {} } },
    }).study,
  ).toEqual(plain);
  const [other] = exampleRun('one').trials;
  expect(none.conceal(other as FinishedTrial)).toEqual(other);
});
