import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, writeFileAtomic } from '../../src/kit/files.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-files-'));
});

describe('files', () => {
  it('are written with the folders above them, and replaced whole', () => {
    const path = join(dir, 'a/b/c.txt');
    writeFileAtomic(path, 'one');
    writeFileAtomic(path, 'two');
    expect(readFileSync(path, 'utf8')).toBe('two');
    expect(readdirSync(join(dir, 'a/b'))).toEqual(['c.txt']);
  });

  it('leave nothing behind when they cannot be put in place', () => {
    makeFolder(join(dir, 'taken/inside'));
    expect(() => writeFileAtomic(join(dir, 'taken'), 'x')).toThrow();
    expect(readdirSync(dir)).toEqual(['taken']);
  });
});

describe('makeFolder', () => {
  it('takes a folder that is there, and refuses a file in its place', () => {
    makeFolder(join(dir, 'x/y'));
    makeFolder(join(dir, 'x/y'));
    writeFileSync(join(dir, 'file'), '');
    expect(() => makeFolder(join(dir, 'file'))).toThrow(/EEXIST/);
    expect(() => makeFolder(join(dir, 'file/z'))).toThrow(/ENOTDIR/);
  });

  it.skipIf(process.platform !== 'linux')('returns where folders cannot be made', () => {
    expect(() => makeFolder('/proc/none/deeper')).toThrow(/ENOENT/);
  });
});
