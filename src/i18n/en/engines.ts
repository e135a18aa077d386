import type { EnginesMessages } from '../messages/engines.ts';

export const engines: EnginesMessages = {
  heading: 'Engines and GPUs',
  ceiling: 'What the hardware could do',
  ceilingCaption: (hardware) =>
    `Ceiling: the same requests at the data sheet's rates of ${hardware}, with nothing lost in between and the KV cache as large as memory allows. No engine reaches it; a measurement above it would be refused.`,
  measuredThroughput: 'Total tok/s',
  ceilingThroughput: 'Ceiling, tok/s',
  ceilingShare: 'Reached',
  bound: 'Bound by',
  bounds: { compute: 'arithmetic', memory: 'memory bandwidth', capacity: 'memory size' },
  gpu: 'GPUs under load',
  gpuCaption:
    'All GPUs together during the load of one trial, the first with figures of each configuration and workload',
  meanPower: 'Mean power, W',
  peakPower: 'Peak power, W',
  energyPerToken: 'Energy per output token, J',
  peakMemory: 'Peak memory',
  utilization: 'Utilization',
  throttled: 'Slowed down by',
  notThrottled: 'nothing',
  throttleReason: (reason, share) => `${reason.replaceAll('_', ' ')} (${share} of the time)`,
  start: 'Starts',
  startCaption: 'How long engines took to be ready, and for what',
  startTotal: 'Ready after',
  parts: {
    starting: 'Starting',
    loading: 'Loading weights',
    compiling: 'Compiling',
    capturing: 'Recording graphs',
    'warming up': 'Warming up',
    'first token': 'First token',
  },
  compileCache: 'Compiled graphs',
  caches: { cold: 'compiled anew', warm: 'from the cache' },
  cacheNote:
    'A start that found its compiled graphs in the cache of an earlier one is no measure of a first start on a new machine.',
  counters: 'Cache and scheduling',
  countersCaption:
    'What the engine told of itself during the load of one trial, the first with figures of each configuration and workload',
  peakRunning: 'Most running',
  peakWaiting: 'Most waiting',
  kvUse: 'KV cache in use, at most',
  prefixHits: 'Found in the prefix cache',
  preemptions: 'Preemptions',
  draftAcceptance: 'Drafted tokens accepted',
};
