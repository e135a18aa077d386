import type { Weights } from '../../src/records/run.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';

/** As a run has them whose weights came from a hub, and one from a folder. */
export const exampleWeights: readonly Weights[] = [
  { name: 'Qwen/Qwen3-14B', commit: '40c069824f4251a91eefaf281ebe4c544efd3e18', bytes: 29_536_665_088 },
  { name: '/data/models/draft', commit: null, bytes: 1_503_300_328 },
];

/** What GPU and engine told of themselves during a load. */
export const exampleTelemetry = (throughput: number): Pick<FinishedTrial, 'gpu' | 'counters'> => ({
  gpu: {
    gpus: [],
    meanPowerW: 612.4,
    peakPowerW: 689.9,
    energyJ: 91_000,
    energyPerOutputTokenJ: 3060 / throughput,
    peakMemoryMiB: 74_112,
    meanUtilization: 0.97,
    throttled: { gpu_idle: 0.01, sw_power_cap: 0.41 },
    suspect: [],
  },
  counters: {
    scrapes: 120,
    failedScrapes: 0,
    meanRunning: 201.4,
    peakRunning: 256,
    meanWaiting: 310.2,
    peakWaiting: 744,
    peakKvUseShare: 0.934,
    preemptions: 3,
    prefixHitRate: 0.0021,
    draftAcceptance: null,
  },
});
