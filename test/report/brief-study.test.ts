import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { studySpec } from '../../src/records/study.ts';
import { withoutDefaults } from '../../src/report/brief-study.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { renderReport } from '../../src/report/render.ts';
import { exampleRun, exampleStudy } from './fixture.ts';

const small = {
  name: 'small',
  model: 'tiny-qwen3',
  engines: ['embedded'],
  baseline: { engine: 'embedded' },
  stages: [{ name: 'batch', alternatives: [{ max_running_requests: 2 }] }],
  workloads: [{ name: 'chat', num_prompts: 12 }],
};

it('keeps what a file says, and nothing that is the default anyway', () => {
  expect(withoutDefaults(studySpec.parse(small))).toEqual(small);
  const more = { ...small, repeats: { close_calls: 1 }, limits: { stall_timeout_s: 30 } };
  expect(withoutDefaults(studySpec.parse(more))).toEqual(more);
  expect(withoutDefaults(studySpec.parse({ ...small, repeats: { close_calls: 2 } }))).toEqual(small);
});

it('means the same study', () => {
  const study = exampleStudy('many');
  expect(studySpec.parse(withoutDefaults(study))).toEqual(study);
  expect(JSON.stringify(withoutDefaults(study)).length).toBeLessThan(JSON.stringify(study).length / 2);
});

it('leaves a study as it is of which a part is hidden', () => {
  const study = { ...exampleStudy('one'), name: '<user> study' };
  expect(withoutDefaults(study)).toEqual(study);
});

it('stands in the report, while the JSON has every key', () => {
  const run = exampleRun('many');
  const files = renderReport(run, { lang: 'en', formats: ['md', 'json'] });
  const text = /<summary>study\.yaml<\/summary>\n\n```yaml\n([\s\S]*?)\n```/.exec(files[0]?.content ?? '')?.[1] ?? '';
  expect(studySpec.parse(parse(text))).toEqual(run.study);
  expect(text).not.toContain('timed_trace');
  expect(JSON.parse(files.at(-1)?.content ?? '').study).toEqual(reportInfo(run).study);
});
