import type { CommandEntry } from './command.ts';

/** Every command, in the order of `--help`. To add one: write its file beside this one, then name it here. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'tune',
    summary: 'run a study: find the fastest configuration, prove it, write the report',
    load: async () => (await import('./tune.ts')).default,
  },
  {
    name: 'bench serve',
    summary: 'measure a server that runs already, like vllm bench serve',
    load: async () => (await import('./bench-serve.ts')).default,
  },
  {
    name: 'report',
    summary: 'write the report of a run again, also of one that is unfinished',
    load: async () => (await import('./report.ts')).default,
  },
  {
    name: 'serve',
    summary: 'serve a GGUF model on this CPU with the embedded engine (llama.cpp), OpenAI API',
    load: async () => (await import('./serve.ts')).default,
  },
];
