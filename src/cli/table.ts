import type { CommandEntry } from './command.ts';

/** Every command, in the order of `--help`. To add one: write its file beside this one, then name it here. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'tune',
    summary: 'run a study: find the fastest configuration, prove it, write the report',
    load: async () => (await import('./tune.ts')).default,
  },
  {
    name: 'init',
    summary: 'write a study file for a model, with what is worth trying on this machine',
    load: async () => (await import('./init.ts')).default,
  },
  {
    name: 'doctor',
    summary: 'look whether a study can run here, and say what is in its way',
    load: async () => (await import('./doctor.ts')).default,
  },
  {
    name: 'predict',
    summary: 'say what fits and what would be fast, before any GPU time is spent (simulated)',
    load: async () => (await import('./predict.ts')).default,
  },
  {
    name: 'bench serve',
    summary: 'measure a server that runs already, like vllm bench serve',
    load: async () => (await import('./bench-serve.ts')).default,
  },
  {
    name: 'bench self',
    summary: 'measure what the load client itself can do on this machine',
    load: async () => (await import('./bench-self.ts')).default,
  },
  {
    name: 'dataset',
    summary: 'print the requests that a load would send, without a server',
    load: async () => (await import('./dataset.ts')).default,
  },
  {
    name: 'dataset fetch',
    summary: 'download a public data set into the cache, and verify it',
    load: async () => (await import('./dataset-fetch.ts')).default,
  },
  {
    name: 'summarize',
    summary: 'compute every figure again from the records of an earlier load',
    load: async () => (await import('./summarize.ts')).default,
  },
  {
    name: 'import',
    summary: 'take published results, or those of other tools, into a run',
    load: async () => (await import('./import.ts')).default,
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
  {
    name: 'sim serve',
    summary: 'serve a simulated engine, without a GPU, at the pace that is predicted for one; OpenAI API',
    load: async () => (await import('./sim-serve.ts')).default,
  },
];
