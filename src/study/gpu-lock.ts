import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { InputError } from '../kit/errors.ts';
import { acquireLock, type Lock } from '../processes/lock.ts';

/**
 * Keeps other studies of this user off the GPUs of this machine until it is released: two engines that share a GPU measure
 * each other. Throws an InputError that names who has them.
 */
export function lockGpus(): Lock {
  const dir = join(tmpdir(), `servetune-gpus-${userInfo().uid}`);
  try {
    return acquireLock(dir);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      error.problems.map(({ message }) => ({
        place: 'the GPUs of this machine',
        message: `another study may be using them: ${message}`,
        hint: 'wait until it has ended, or end it',
      })),
    );
  }
}
