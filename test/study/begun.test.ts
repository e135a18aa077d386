import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import type { SearchSpace } from '../../src/records/space.ts';
import { type StudySpec, studySpec } from '../../src/records/study.ts';
import { begunSpace } from '../../src/study/begun.ts';

const study: StudySpec = studySpec.parse({
  name: 'small',
  model: 'm',
  engines: [{ name: 'external', url: 'http://127.0.0.1:8000' }, 'vllm'],
  baseline: { engine: 'external' },
  stages: [{ name: 'engine', alternatives: [{ engine: 'vllm' }] }],
  workloads: [{ name: 'chat', random_input_len: 16, random_output_len: 8, num_prompts: 8, max_concurrency: 4 }],
});
const space = (external: string, vllm = '0.25.1'): SearchSpace => ({
  baseline: { engine: 'external', version: external, settings: {} },
  stages: [{ name: 'engine', alternatives: [{ engine: { engine: 'vllm', version: vllm }, settings: {} }] }],
});
const place = (path: readonly PropertyKey[]): string => ['study.yaml', ...path].join(' ');

function goOn(before: SearchSpace, now: SearchSpace, changed: Partial<StudySpec> = {}): SearchSpace | string {
  try {
    return begunSpace({ study, space: before }, { study: { ...study, ...changed }, place }, now);
  } catch (error) {
    if (error instanceof InputError) return error.problems.map((p) => `${p.place}: ${p.message}`).join();
    throw error;
  }
}

describe('a run goes on', () => {
  it('with the study that it began with', () => expect(goOn(space('1.0'), space('1.0'))).toEqual(space('1.0')));

  it.each([
    ['did then', '0.25.1', 'unknown'],
    ['does now', 'unknown', '0.25.1'],
  ])('where a server tells its version only once (%s), with the space that it began with', (_, then, now) => {
    expect(goOn(space(then), space(now))).toEqual(space(then));
  });

  it.each([
    ['another version of a server', space('0.25.1'), space('0.26.0')],
    ['another version of an engine', space('1.0'), space('1.0', '0.26.0')],
    ['another version of an engine beside a server that tells none', space('unknown'), space('1.0', '0.26.0')],
  ])('not with %s', (_, then, now) => expect(goOn(then, now)).toContain('changed: engine versions'));

  it('not with another study, and says what is different', () => {
    expect(goOn(space('1.0'), space('1.0'), { model: 'n' })).toMatch(/^study\.yaml model: .*changed: model/);
  });
});
