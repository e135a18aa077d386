import { describe, expect, it } from 'vitest';
import { flagsSaid, inVersions, type Mapping, missing, say } from '../../src/engines/mapping.ts';

const mapping: Mapping = {
  plain: { flag: '--plain' },
  words: { flag: '--words', say: (value) => [value, '--and', 'more'] },
  switched: { on: '--switched', off: '--no-switched' },
  off_only: { off: '--without' },
  moved: [
    { flag: '--new-name', since: '2.0' },
    { env: 'OLD_NAME', say: (value) => String(value).toUpperCase(), before: '2.0' },
  ],
  late: { flag: '--late', since: '3.0' },
  between: { flag: '--between', since: '1.5', before: '2.5' },
  option: { option: 'a.b.c' },
  sibling: { option: 'a.d' },
  method: { json: '--config', key: 'method' },
  depth: { json: '--config', key: 'nested.depth' },
};

describe('settings said to an engine', () => {
  it('are flags with a value, several words, or none', () => {
    const { argv } = say(mapping, { plain: 7, words: 'x', switched: true, off_only: true }, '1.0');
    expect(argv).toEqual(['--plain', '7', '--words', 'x', '--and', 'more', '--switched']);
    expect(say(mapping, { switched: false, off_only: false }, '1.0').argv).toEqual(['--no-switched', '--without']);
  });

  it('follow the version: the first way that it knows', () => {
    expect(say(mapping, { moved: 'x' }, '1.9')).toEqual({ argv: [], env: { OLD_NAME: 'X' }, options: {} });
    expect(say(mapping, { moved: 'x' }, '2.0').argv).toEqual(['--new-name', 'x']);
    expect(say(mapping, { moved: 'x' }, undefined).argv).toEqual(['--new-name', 'x']);
  });

  it('count a release candidate as before its release', () => {
    expect(say(mapping, { moved: 'x' }, '2.0rc1').env).toEqual({ OLD_NAME: 'X' });
  });

  it('share one JSON flag and one options file', () => {
    const said = say(mapping, { method: 'm', depth: 2, option: true, sibling: 1 }, '1.0');
    expect(said.argv).toEqual(['--config', '{"method":"m","nested":{"depth":2}}']);
    expect(said.options).toEqual({ a: { b: { c: true }, d: 1 } });
  });

  it('come in the order of the mapping, whatever the order of the settings', () => {
    expect(say(mapping, { switched: true, plain: 1 }, '1.0').argv).toEqual(['--plain', '1', '--switched']);
  });
});

describe('settings that a version does not have', () => {
  it('are named, with the versions that have them', () => {
    const problems = missing(mapping, { late: 1, between: 1, plain: 1 }, { name: 'engine', version: '2.9' });
    expect(problems.map(({ place }) => place)).toEqual(['late', 'between']);
    expect(problems[0]?.message).toBe('engine 2.9 does not have it: it exists from 3.0 on');
    expect(problems[1]?.message).toContain('from 1.5 on and before 2.5');
  });

  it('are none where the version is not known, except those that are gone', () => {
    const places = missing(mapping, { late: 1, moved: 1, between: 1 }, { name: 'engine', version: undefined });
    expect(places.map(({ place }) => place)).toEqual(['between']);
  });
});

it('tells the flag by which each setting is said', () => {
  const flags = flagsSaid(mapping, { plain: 1, switched: false, moved: 'x', method: 'm', off_only: true }, '1.0');
  expect(Object.fromEntries(flags)).toEqual({ plain: '--plain', switched: '--no-switched', method: '--config' });
});

it.each([
  [{}, '1.0', true],
  [{ since: '1.0' }, '1.0', true],
  [{ since: '1.0' }, '1.0rc1', false],
  [{ before: '1.0' }, '1.0', false],
  [{ before: '1.0' }, '1.0rc1', true],
  [{ since: '1.0' }, undefined, true],
  [{ before: '1.0' }, undefined, false],
] as const)('%j holds in version %s: %s', (versions, version, holds) => {
  expect(inVersions(versions, version)).toBe(holds);
});
