import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareResult, pythonFloat, resultPath, type SavedResult, writeResult } from '../../../src/cli/bench/files.ts';
import { InputError, ServetuneError } from '../../../src/kit/errors.ts';
import { folder } from '../command.ts';
import { plan } from './plan.ts';

/** As it was built, for a process of its own; `npm test` builds before it tests. */
const built = new URL('../../../dist/cli/bench/files.js', import.meta.url).href;

const result: SavedResult = { model_id: 'org/model-7b', date: '20260805-090307', completed: 3, text: 'größe' };
const nameOf = (...argv: readonly string[]): string | null => resultPath(plan('--save-result', ...argv), result);

describe('the name of a result file', () => {
  it.each([
    [[], 'openai-infqps-model-7b-20260805-090307.json'],
    [['--request-rate', '4'], 'openai-4.0qps-model-7b-20260805-090307.json'],
    [['--request-rate', '0.25'], 'openai-0.25qps-model-7b-20260805-090307.json'],
    [['--max-concurrency', '64'], 'openai-infqps-concurrency64-model-7b-20260805-090307.json'],
    [['--label', 'mine'], 'mine-infqps-model-7b-20260805-090307.json'],
    [['--backend', 'vllm', '--compat', 'vllm-0.11.0'], 'vllm-infqps-model-7b-20260805-090307.json'],
    [
      ['--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '1', '--ramp-up-end-rps', '10', '--max-concurrency', '8'],
      'openai-ramp-up-linear-1qps-10qps-concurrency8-model-7b-20260805-090307.json',
    ],
    [['--result-dir', 'a/b'], 'a/b/openai-infqps-model-7b-20260805-090307.json'],
    [['--result-dir', 'a', '--result-filename', 'r.json'], 'a/r.json'],
    [['--result-dir', 'a', '--result-filename', '/x/r.json'], '/x/r.json'],
    [['--result-filename', ''], 'openai-infqps-model-7b-20260805-090307.json'],
  ])('with %j is %s', (argv, name) => expect(nameOf(...argv)).toBe(name));

  it('is none where nothing is saved', () => {
    expect(resultPath(plan(), result)).toBeNull();
    expect(writeResult(plan(), result)).toBeNull();
  });

  it('has the date of the run', () => expect(plan().date).toBe('20260805-090307'));

  it.each([
    [4, '4.0'],
    [0.5, '0.5'],
    [1e-5, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [0.0001, '0.0001'],
    [1e15, '1000000000000000.0'],
    [1e16, '1e+16'],
    [1e100, '1e+100'],
    [Number.POSITIVE_INFINITY, 'inf'],
  ])('writes %d as Python does: %s', (value, text) => expect(pythonFloat(value)).toBe(text));

  it('writes every number so that it reads back', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-300, max: 1e300, noNaN: true }), (value) => Number(pythonFloat(value)) === value),
    );
  });
});

describe('saving a result', () => {
  const saved = (dir: string, ...argv: readonly string[]) =>
    plan('--save-result', '--result-dir', dir, '--result-filename', 'r.json', ...argv);

  it('makes the folder, and replaces what is there', () => {
    const dir = join(folder(), 'a', 'b');
    prepareResult(saved(dir));
    expect(statSync(dir).isDirectory()).toBe(true);
    const path = writeResult(saved(dir), { ...result, completed: 1 });
    expect(writeResult(saved(dir), result)).toBe(path);
    expect(JSON.parse(readFileSync(join(dir, 'r.json'), 'utf8'))).toEqual(result);
    expect(readdirSync(dir)).toEqual(['r.json']);
  });

  it('appends objects, one a line', () => {
    const dir = folder();
    for (const completed of [1, 2, 3]) writeResult(saved(dir, '--append-result'), { ...result, completed });
    const lines = readFileSync(join(dir, 'r.json'), 'utf8').split('\n');
    expect(lines.map((line) => (JSON.parse(line) as SavedResult).completed)).toEqual([1, 2, 3]);
  });

  it('is strict JSON, whatever the figures', () => {
    const dir = folder();
    const path = writeResult(saved(dir), { ...result, none: Number.NaN, infinite: Number.POSITIVE_INFINITY });
    expect(JSON.parse(readFileSync(path as string, 'utf8'))).toMatchObject({ none: null, infinite: null });
  });

  it('replaces what a link points to, and leaves the link', () => {
    const dir = folder();
    writeFileSync(join(dir, 'real.json'), 'old');
    symlinkSync('real.json', join(dir, 'r.json'));
    writeResult(saved(dir), result);
    expect(JSON.parse(readFileSync(join(dir, 'real.json'), 'utf8'))).toEqual(result);
  });

  it('writes to a device and leaves it one', () => {
    writeResult(plan('--save-result', '--result-filename', '/dev/null'), result);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it.runIf(existsSync('/dev/full'))('says that the disk is full', () => {
    const full =
      (...argv: string[]) =>
      () =>
        writeResult(plan('--save-result', '--result-filename', '/dev/full', ...argv), result);
    expect(full()).toThrow(ServetuneError);
    expect(full('--append-result')).toThrow(/could not be saved to \/dev\/full: no space is left on the disk/);
  });

  it.each([true, false])('leaves a file as it was when only a part can be written (append: %s)', (append) => {
    const dir = folder();
    const path = join(dir, 'r.json');
    const before = 'x'.repeat(3000);
    writeFileSync(path, before);
    // A process that may write files of 4 KiB stands in for a disk that fills up.
    const script = `
      const { writeResult } = await import(${JSON.stringify(built)});
      const plan = { workload: {}, result: { save: true, append: ${append}, filename: ${JSON.stringify(path)} } };
      try { writeResult(plan, { model_id: 'm', date: 'd', text: 'y'.repeat(100_000) }); }
      catch (error) { process.stdout.write(error.code + ': ' + error.message); }`;
    const limited = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1"`;
    const { stdout, stderr } = spawnSync('sh', ['-c', limited, process.execPath, script], { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^result_not_saved: .*could not be saved/), '']);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(readdirSync(dir)).toEqual(['r.json']);
  });

  it('refuses a folder as a name, and a folder that cannot be', () => {
    const dir = folder();
    mkdirSync(join(dir, 'r.json'));
    expect(() => prepareResult(saved(dir))).toThrow(InputError);
    expect(() => writeResult(saved(dir), result)).toThrow(/is a folder/);
    writeFileSync(join(dir, 'file'), '');
    expect(() => prepareResult(saved(join(dir, 'file', 'below')))).toThrow(/a part of the path is no folder/);
    expect(() => prepareResult(plan('--result-dir', join(dir, 'file', 'below')))).not.toThrow();
  });
});
