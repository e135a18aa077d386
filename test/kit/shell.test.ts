import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shellCommand, shellQuote, shellWords } from '../../src/kit/shell.ts';

/** What a program receives when a shell runs the command line. */
function received(shell: string, line: string): string[] {
  const { stdout, status } = spawnSync(shell, ['-c', line], { encoding: 'utf8' });
  expect(status).toBe(0);
  return stdout.split('\0').slice(0, -1);
}

it.each(['sh', 'bash'])('passes any argument through %s unchanged', (shell) => {
  const argument = fc.oneof(
    fc.string({ unit: 'binary-ascii' }).map((s) => s.replaceAll('\0', '')),
    fc.constantFrom(
      '',
      "'",
      '"',
      '\\',
      '$HOME',
      '`id`',
      '*',
      '~',
      '~/x',
      '#',
      '!!',
      '-n',
      '=x',
      'a=b',
      '{a,b}',
      '\n',
      'a b',
    ),
  );
  fc.assert(
    fc.property(fc.array(argument, { minLength: 1, maxLength: 12 }), (argv) => {
      expect(received(shell, `${shellCommand(['printf', '%s\\0'])} ${argv.map(shellQuote).join(' ')}`)).toEqual(argv);
    }),
    { numRuns: 60 },
  );
});

it('leaves bare what needs no quotes', () => {
  expect(shellCommand(['vllm', 'serve', 'Qwen/Qwen3-14B', '--a=fa3', '-x', '0.9', 'http://127.0.0.1:8000/v1'])).toBe(
    'vllm serve Qwen/Qwen3-14B --a=fa3 -x 0.9 http://127.0.0.1:8000/v1',
  );
  expect(shellCommand(['echo', "it's", ''])).toBe("echo 'it'\\''s' ''");
});

it('quotes a first word that would be an assignment or a keyword', () => {
  expect(shellCommand(['A=b', 'A=b'])).toBe("'A=b' A=b");
  expect(shellCommand(['if', 'if'])).toBe("'if' if");
});

describe('the words of a line', () => {
  it.each([
    ['', []],
    ['  a   b ', ['a', 'b']],
    [`'a b' "c d" e\\ f`, ['a b', 'c d', 'e f']],
    [`--x='{"a": [1, 2]}'y`, ['--x={"a": [1, 2]}y']],
    [`"\\"\\$\\n" '\\n'`, ['"$\\n', '\\n']],
    [`'' ""`, ['', '']],
    ['$HOME *', ['$HOME', '*']],
  ])('%j', (line, words) => {
    expect(shellWords(line)).toEqual(words);
  });

  it.each([`a 'b`, `a "b`, 'a\\'])('are none in %j', (line) => {
    expect(shellWords(line)).toBeNull();
  });

  it('are what was quoted', () => {
    const argument = fc.string({ unit: 'binary-ascii' });
    fc.assert(
      fc.property(fc.array(argument, { minLength: 1 }), (argv) => {
        expect(shellWords(argv.map(shellQuote).join(' '))).toEqual(argv);
      }),
    );
  });
});
