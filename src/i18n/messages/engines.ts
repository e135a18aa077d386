/** Texts about what engines and GPUs did besides answering. */
export interface EnginesMessages {
  readonly heading: string;
  /** What the hardware could do at most, and how much of it was reached. */
  readonly ceiling: string;
  ceilingCaption(hardware: string): string;
  readonly measuredThroughput: string;
  readonly ceilingThroughput: string;
  readonly ceilingShare: string;
  readonly bound: string;
  readonly bounds: Readonly<Record<'compute' | 'memory' | 'capacity', string>>;
  readonly gpu: string;
  readonly gpuCaption: string;
  readonly meanPower: string;
  readonly peakPower: string;
  readonly energyPerToken: string;
  readonly peakMemory: string;
  readonly utilization: string;
  readonly throttled: string;
  readonly notThrottled: string;
  /** Of the power cap and its like: they are usual, and no reason for doubt. */
  throttleReason(reason: string, share: string): string;
  readonly start: string;
  readonly startCaption: string;
  readonly startTotal: string;
  /** By their names in the record. */
  readonly parts: Readonly<
    Record<'starting' | 'loading' | 'compiling' | 'capturing' | 'warming up' | 'first token', string>
  >;
  readonly compileCache: string;
  readonly caches: Readonly<Record<'cold' | 'warm', string>>;
  readonly cacheNote: string;
  readonly counters: string;
  readonly countersCaption: string;
  readonly peakRunning: string;
  readonly peakWaiting: string;
  readonly kvUse: string;
  readonly prefixHits: string;
  readonly preemptions: string;
  readonly draftAcceptance: string;
}
