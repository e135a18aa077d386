/** Where an engine tells what it is doing, by the names of its own metrics. */
export interface Counters {
  /** `prometheus` text, or TensorRT-LLM's list of iterations, which is gone once it was read. */
  readonly format: 'prometheus' | 'iterations';
  readonly path: string;
  /**
   * Names of gauges and counters, the first that is there counts. Shares are 0 to 1. In a list of iterations a name is
   * a path: `kvCacheStats.usedNumBlocks`. Where an engine tells only the parts, a name may add up and divide:
   * `kvCacheStats.usedNumBlocks/kvCacheStats.maxNumBlocks`, `a+b`, `a/b+c` (which is a/(b+c)); it is there when all of
   * its parts are.
   */
  readonly names: Readonly<Partial<Record<CounterName, readonly string[]>>>;
}

export const counterNames = [
  'running',
  'waiting',
  'kvUseShare',
  'preemptions',
  'prefixQueries',
  'prefixHits',
  'prefixHitShare',
  'draftTokens',
  'acceptedTokens',
  'acceptedShare',
] as const;
export type CounterName = (typeof counterNames)[number];

/** What an engine told at one moment; what it does not tell is absent. */
export type CounterValues = Readonly<Partial<Record<CounterName, number>>>;

/** One attempt to read the counters of an engine. */
export interface CounterScrape {
  /** When the engine was asked, and when it had answered, on the clock of `kit/clock.ts`. */
  readonly askedAtS: number;
  readonly atS: number;
  /** One entry; of a list of iterations one each, oldest first, none while the engine idled. Null: it failed. */
  readonly values: readonly CounterValues[] | null;
}
