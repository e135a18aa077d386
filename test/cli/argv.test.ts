import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseArgv } from '../../src/cli/argv.ts';
import { defineCommand } from '../../src/cli/command.ts';
import { numberIn, suffixed } from '../../src/cli/values.ts';
import { InputError, type Problem } from '../../src/kit/errors.ts';

const command = defineCommand({
  name: 'try',
  about: 'Tries.',
  positional: { key: 'file', label: 'FILE', optional: true },
  options: z.strictObject({
    file: z.string().optional(),
    num_prompts: z.int().min(1).default(1000),
    num_warmups: z.int().min(0).default(0),
    rate: z.union([z.literal('inf'), z.number().positive()]).default('inf'),
    ratio: z.union([z.number().min(0).lt(1), z.strictObject({ input: z.number(), output: z.number() })]).default(0),
    label: z.string().optional(),
    header: z.array(z.string()).default([]),
    goodput: z.array(z.string()).min(1).optional(),
    weights: z.array(z.number()).default([]),
    extra_body: z.record(z.string(), z.unknown()).optional(),
    save: z.boolean().default(false),
    pin: z.boolean().default(true),
    timed: z.boolean().optional(),
    no_stream: z.boolean().default(false),
  }),
  examples: [],
  check: ({ save, label }) => (save && label ? [{ place: '--label', message: 'does not go with --save' }] : []),
  run: () => Promise.reject(new Error('not to be run')),
});

const parse = (...argv: readonly string[]) => parseArgv(command, argv);

function problems(...argv: readonly string[]): readonly Problem[] {
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
}

describe('spellings', () => {
  it('has _ for -, = for a blank, and prefixes that leave no doubt', () => {
    for (const argv of [
      ['--num-prompts', '5'],
      ['--num_prompts', '5'],
      ['--num_prompts=5'],
      ['--num-p', '5'],
      ['--num_p=5'],
    ]) {
      expect(parse(...argv)).toMatchObject({ num_prompts: 5 });
    }
    expect(problems('--num', '5')).toEqual([
      { place: '--num', message: 'is ambiguous', hint: 'it could be --num-prompts, --num-warmups' },
    ]);
    expect(parse('--label=a_b=c').label).toBe('a_b=c');
    expect(parse('--label=').label).toBe('');
  });

  it('takes an exact name before others that it begins', () => {
    expect(parse('--pin').pin).toBe(true);
    expect(parse('--save').save).toBe(true);
  });

  it('suggests what was meant, and skips its values', () => {
    expect(problems('--num-promts', '5', '-x')).toEqual([
      { place: '--num-promts', message: 'unknown option', hint: 'did you mean --num-prompts?' },
      { place: '-x', message: 'unknown option', hint: expect.any(String) },
    ]);
  });
});

describe('switches', () => {
  it('are turned off only where that can mean something', () => {
    expect(parse()).toMatchObject({ save: false, pin: true, no_stream: false });
    expect(parse().timed).toBeUndefined();
    expect(parse('--no-pin', '--no-timed', '--no-stream')).toMatchObject({ pin: false, timed: false, no_stream: true });
    expect(parse('--timed').timed).toBe(true);
    expect(problems('--no-save')).toEqual([
      { place: '--no-save', message: 'unknown option', hint: '--save is off unless it is given' },
    ]);
  });

  it('take no value', () => {
    expect(problems('--save=true')[0]).toMatchObject({ place: '--save', message: 'takes no value' });
  });
});

describe('values', () => {
  it('may be negative numbers, and other words with a dash after =', () => {
    expect(parse('--label', '-5').label).toBe('-5');
    expect(parse('--label=-x').label).toBe('-x');
    expect(problems('--label', '-x')).toEqual([
      { place: '--label', message: 'needs a value', hint: 'a value that begins with a dash is written --label=-x' },
      { place: '-x', message: 'unknown option', hint: expect.any(String) },
    ]);
    expect(parse('--label', '-not a flag').label).toBe('-not a flag');
  });

  it('are several after one flag, and the last of several flags', () => {
    expect(parse('--header', 'a=1', 'b=2', '--save').header).toEqual(['a=1', 'b=2']);
    expect(parse('--header').header).toEqual([]);
    expect(parse('--header', 'a=1', '--header', 'b=2').header).toEqual(['b=2']);
    expect(parse('--num-prompts', '1', '--num-prompts', '2').num_prompts).toBe(2);
    expect(problems('--goodput')[0]).toMatchObject({ place: '--goodput', message: 'needs a value' });
    expect(parse('--weights', '1', '2.5').weights).toEqual([1, 2.5]);
    expect(problems('--weights', '1', 'x')[0]?.place).toBe('--weights value 2');
  });

  it('that are dropped are told of', () => {
    const told: string[] = [];
    parseArgv(command, ['--header', 'a=secret', '--header', 'b=2', '--save'], (note) => told.push(note));
    expect(told).toEqual(['--header is given 2 times; only the last one counts']);
  });

  it('belong to the file where they stand alone, also after --', () => {
    expect(parse('x', '--save').file).toBe('x');
    expect(parse('--', '--save')).toMatchObject({ file: '--save', save: false });
    expect(problems('x', 'y')[0]).toMatchObject({ place: 'y', message: 'is not expected here' });
    expect(problems('--header=a=1', 'b', 'c').map(({ place }) => place)).toEqual(['c']);
  });
});

describe('numbers', () => {
  it.each([
    ['5', 5],
    ['+5', 5],
    ['1e3', 1000],
    ['.5', 0.5],
    ['5.', 5],
    ['1_000', 1000],
    [' 7 ', 7],
    ['0x10', undefined],
    ['1e400', undefined],
    ['', undefined],
    ['1,5', undefined],
    ['5k', undefined],
    ['nan', undefined],
    ['__1', undefined],
  ])('%j is %s', (text, number) => expect(numberIn(text)).toBe(number));

  it.each([
    ['1k', 1000],
    ['1K', 1024],
    ['25.6k', 25_600],
    ['25.6K', undefined],
    ['2M', 2 ** 21],
    ['3t', 3e12],
    ['k', undefined],
    ['1kb', undefined],
  ])('%j with a suffix is %s', (text, number) => expect(suffixed(text)).toBe(number));

  it('are infinite by Python’s names', () => {
    for (const text of ['inf', 'Infinity', 'INF', '+inf']) expect(parse('--rate', text).rate).toBe('inf');
    expect(problems('--rate', '-inf')).toEqual([{ place: '--rate', message: 'does not take “-inf”' }]);
  });

  it('are whole where they must be, and written out', () => {
    expect(parse('--num-prompts', '1e3').num_prompts).toBe(1000);
    expect(problems('--num-prompts', '1.5')[0]?.place).toBe('--num-prompts');
    expect(problems('--num-prompts', '2k')).toEqual([
      { place: '--num-prompts', message: expect.stringContaining('number'), hint: 'write the number out: 2000' },
    ]);
  });
});

describe('objects', () => {
  it('are JSON', () => {
    expect(parse('--extra-body', '{"a": [1, null]}').extra_body).toEqual({ a: [1, null] });
    expect(parse('--ratio', '{"input": 0.1, "output": 0.5}').ratio).toEqual({ input: 0.1, output: 0.5 });
    expect(parse('--ratio', '0.25').ratio).toBe(0.25);
  });

  it.each(["{'a': 1}", '{"a": True}', '{(1, 2): 0.5}'])('are no Python literals: %s', (text) => {
    expect(problems('--extra-body', text)).toEqual([
      { place: '--extra-body', message: 'is not JSON', hint: expect.stringContaining('Python literal') },
    ]);
  });

  it.each(['5', '[1]', '"a"', 'null'])('are nothing else: %s', (text) => {
    expect(problems('--extra-body', text)[0]?.place).toBe('--extra-body');
  });

  it('are also written key by key', () => {
    expect(
      parse(
        ...['--extra_body.top_k', '5', '--extra-body.a.b', 'text', '--extra-body.a.c=1k', '--extra-body.stop+', 'x,y'],
        ...['--extra-body.stop+', 'z', '--extra-body.on', 'true', '--extra-body.low', '-1'],
      ).extra_body,
    ).toEqual({ top_k: 5, a: { b: 'text', c: 1000 }, stop: ['x', 'y', 'z'], on: true, low: -1 });
    expect(problems('--label.x', '1')[0]).toMatchObject({ place: '--label.x', message: '--label takes no keys' });
    expect(problems('--extra-body.a')[0]).toMatchObject({ place: '--extra-body.a', message: 'needs a value' });
    expect(problems('--extra-body.__proto__.x', '1')).toHaveLength(1);
    expect(problems('--extra-body', '{}', '--extra-body.a', '1')[0]?.message).toBe('is given in both ways');
  });
});

describe('problems', () => {
  it('come all at once, those between options too', () => {
    const found = problems('--num-prompts', '0', '--ratio', 'much', '--save', '--label', 'x', '--nope');
    expect(found.map(({ place }) => place)).toEqual(['--nope', '--num-prompts', '--ratio', '--label']);
  });
});
