import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writeNewFile } from '../../../src/engines/embedded/model/new-file.ts';

const root = mkdtempSync(join(tmpdir(), 'new-file-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
const newFolder = (): string => {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  return folder;
};

it('writes the pieces one after the other, into folders that it makes', async () => {
  const path = join(newFolder(), 'a', 'b', 'file');
  await writeNewFile(path, undefined, async (write) => {
    await write(Buffer.from('one '));
    await write(new Uint8Array(0));
    await write(Buffer.from('two'));
  });
  expect(readFileSync(path, 'utf8')).toBe('one two');
  expect(readdirSync(join(path, '..'))).toEqual(['file']);
});

it('keeps the old file until the new one is whole', async () => {
  const folder = newFolder();
  const path = join(folder, 'file');
  writeFileSync(path, 'old');
  await writeNewFile(path, undefined, async (write) => {
    await write(Buffer.from('new'));
    expect(readFileSync(path, 'utf8')).toBe('old');
  });
  expect(readFileSync(path, 'utf8')).toBe('new');
});

it('leaves nothing behind when it fails', async () => {
  const folder = newFolder();
  const failing = writeNewFile(join(folder, 'file'), undefined, async (write) => {
    await write(Buffer.from('half'));
    throw new Error('no more');
  });
  await expect(failing).rejects.toThrow('no more');
  expect(readdirSync(folder)).toEqual([]);
});

it('stops when it is asked to, and leaves nothing behind', async () => {
  const folder = newFolder();
  const stop = new AbortController();
  const stopped = writeNewFile(join(folder, 'file'), stop.signal, async (write) => {
    await write(Buffer.from('half'));
    stop.abort(new Error('enough'));
    await write(Buffer.from('rest'));
  });
  await expect(stopped).rejects.toThrow('enough');
  expect(readdirSync(folder)).toEqual([]);
});

// /dev/full answers every write with ENOSPC; only Linux has it.
it.runIf(process.platform === 'linux')('says so when the disk is full, and removes what it wrote', async () => {
  const folder = newFolder();
  const full = await open('/dev/full', 'w');
  const failing = writeNewFile(join(folder, 'file'), undefined, async (write) => {
    await write(Buffer.from('half'));
    await full.writeFile('rest');
  });
  await expect(failing).rejects.toMatchObject({
    name: 'ServetuneError',
    code: 'disk_full',
    message: expect.stringContaining(join(folder, 'file')),
    hint: expect.stringContaining('SERVETUNE_CACHE'),
  });
  await full.close();
  expect(readdirSync(folder)).toEqual([]);
});

it('says so when the folder cannot be made', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'models'), 'a file where the folder should be');
  await expect(writeNewFile(join(folder, 'models', 'file'), undefined, async () => {})).rejects.toMatchObject({
    name: 'ServetuneError',
    code: 'cache_not_writable',
    hint: expect.stringContaining('SERVETUNE_CACHE'),
  });
});

it('removes what a killed writer left long ago, and nothing else', async () => {
  const folder = newFolder();
  const longAgo = new Date(Date.now() - 3600_000);
  for (const name of ['file.0a1b2c3d.tmp', 'file.4e5f6a7b.tmp', 'other.0a1b2c3d.tmp', 'file.old'])
    writeFileSync(join(folder, name), 'half');
  for (const name of ['file.0a1b2c3d.tmp', 'other.0a1b2c3d.tmp', 'file.old'])
    utimesSync(join(folder, name), longAgo, longAgo);
  await writeNewFile(join(folder, 'file'), undefined, (write) => write(Buffer.from('new')));
  expect(readdirSync(folder).sort()).toEqual(['file', 'file.4e5f6a7b.tmp', 'file.old', 'other.0a1b2c3d.tmp']);
});
