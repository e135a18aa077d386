import { exitCodes, ServetuneError } from '../kit/errors.ts';

/** An error that is the surroundings' fault, to be mended by the user. */
export const failure = (code: string, message: string, hint: string, cause?: unknown): ServetuneError =>
  new ServetuneError(code, message, { hint, exitCode: exitCodes.badInput, cause });
