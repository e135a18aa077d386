import { expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { lockGpus } from '../../src/study/gpu-lock.ts';

it('lets one study at a time use the GPUs of a machine, and says who does', () => {
  const lock = lockGpus();
  try {
    expect(lockGpus).toThrow(InputError);
    expect(lockGpus).toThrow(new RegExp(`another study may be using them.* ${process.pid} `));
  } finally {
    lock.release();
  }
  lockGpus().release();
});
