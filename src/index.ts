// The library's surface: re-exports and nothing else.
export { exitCodes, InputError, ServetuneError } from './kit/errors.ts';
