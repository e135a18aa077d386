import { execFileSync } from 'node:child_process';
import { interpreter } from './find.mjs';
import { vllm } from './vllm.mjs';

/** `vllm bench serve` takes the loop that `asyncio.run` makes; here uvloop makes it. */
const launcher = [
  'import asyncio, sys, uvloop',
  'run = asyncio.run',
  'asyncio.run = lambda main, **given: run(main, loop_factory=uvloop.new_event_loop, **given)',
  "sys.argv[0] = 'vllm'",
  'from vllm.entrypoints.cli.main import main',
  'sys.exit(main())',
].join('\n');

/** The same client on a faster event loop than the one it comes with: what it could be at its best. */
export const vllmUvloop = {
  ...vllm,
  name: 'vllm+uvloop',
  install: 'as vllm, and uvloop into the same Python',

  find(path) {
    const found = vllm.find(path);
    if (!found) return undefined;
    const python = interpreter(found.program);
    try {
      execFileSync(python, ['-c', 'import uvloop'], { stdio: 'ignore' });
      return { ...found, program: python };
    } catch {
      return undefined;
    }
  },

  command({ program, ...load }) {
    const [, ...args] = vllm.command({ program, ...load });
    return [program, '-c', launcher, ...args];
  },
};
