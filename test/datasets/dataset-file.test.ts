import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { burstgpt } from '../../src/datasets/burstgpt.ts';
import { custom } from '../../src/datasets/custom.ts';
import { hf } from '../../src/datasets/hf.ts';
import { sonnet } from '../../src/datasets/sonnet.ts';
import { timedTrace } from '../../src/datasets/timed-trace.ts';
import { fileOf, made, problemsOf } from './files.ts';

const folder = mkdtempSync(join(tmpdir(), 'servetune-dataset-'));

describe.each([sonnet, custom, burstgpt, hf, timedTrace])('the file of $name', (dataset) => {
  it.each([
    ['without a path', undefined, 'is read from a file'],
    ['that is not there', join(folder, 'none.jsonl'), 'does not exist'],
    ['below a file', join(fileOf('x'), 'rows.jsonl'), 'does not exist'],
    ['that is a folder', folder, 'is a folder'],
    ['without a byte', fileOf(''), 'is empty'],
    ['of blank lines', fileOf('\n\r\n \n'), 'has no|blank lines'],
  ])('%s is refused with its place and a remedy', async (_, dataset_path, message) => {
    const problems = await problemsOf(made(dataset, { dataset_path }, 3));
    expect(problems).toEqual([
      { place: '--dataset-path', message: expect.stringMatching(message), hint: expect.stringMatching(/^\S.{8}/) },
    ]);
  });

  it('stops while it is read', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(made(dataset, { dataset_path: fileOf('x\n') }, 3, { signal })).rejects.toThrow('enough');
  });
});
