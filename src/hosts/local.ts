import { fileURLToPath } from 'node:url';
import { InputError } from '../kit/errors.ts';
import { findProgram } from '../processes/programs.ts';
import type { Host } from './host.ts';

/** What `npx servetune` runs, whether this module runs from `src/hosts/` or from `dist/hosts/`. */
const ourProgram = fileURLToPath(new URL('../../bin/servetune.cjs', import.meta.url));

/**
 * This machine. `npx servetune` is this very program and is started as such, with the same Node: npx would put
 * processes of its own between, and might fetch another version than the one that is measuring.
 */
export const local: Host = {
  name: 'local',
  description: 'this machine: engines that are installed here and found on PATH',
  wrap({ argv, env }) {
    const [name = '', ...args] = argv;
    if (name === 'npx' && args[0] === 'servetune') {
      return { argv: [process.execPath, ourProgram, ...args.slice(1)], env };
    }
    const program = findProgram(name, env.PATH);
    if (program === null) {
      throw new InputError([
        {
          place: 'host local',
          message: name.includes('/')
            ? `${name} does not exist, or may not be executed`
            : `${name} is not installed, or not on PATH`,
          hint: name.includes('/')
            ? 'correct the path, or make the file executable'
            : `install ${name}, or put the folder that holds it on PATH (in a Python environment: activate it)`,
        },
      ]);
    }
    return { argv: [program, ...args], env };
  },
};
