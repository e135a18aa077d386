import type { Made } from '../datasets/dataset.ts';
import { cachedMake } from '../datasets/kept/prompt-cache.ts';
import { datasets } from '../datasets/table.ts';
import { endpointNamed } from '../endpoints/table.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** Distance between the seeds of measured prompts and of warm-up prompts, so that a warm-up never fills a prefix cache for them. */
const warmupSeedOffset = 0x4000_0000;

/** One full wave at the workload's concurrency. */
export const warmupsOf = (workload: Pick<WorkloadOptions, 'max_concurrency' | 'num_prompts'>): number =>
  Math.min(workload.max_concurrency ?? workload.num_prompts, workload.num_prompts);

/** What prompts are made with. */
export interface PromptMaking {
  /** Null where there is none. */
  readonly tokenizer: Tokenizer | null;
  readonly signal: AbortSignal;
  onProgress?(done: number, total: number): void;
}

/** A dataset by the name that a workload gives. */
export function datasetNamed(name: WorkloadOptions['dataset_name']) {
  const dataset = datasets.find((d) => d.name === name);
  if (!dataset) throw new Error(`no dataset ${name}`); // the schema's names are the table's
  return dataset;
}

/**
 * The prompts of one workload, made on demand and kept. The first `num_prompts` are those of the workload's seed; a load
 * that goes on for a minimum duration takes those of seed + 1, seed + 2, ... so a longer load begins with the same
 * prompts as a shorter one.
 */
export class PromptPool {
  readonly #workload: WorkloadOptions;
  readonly #cacheDir: string;
  readonly #prompts: RequestSpec[] = [];
  readonly #notes = new Set<string>();
  #warmups: readonly RequestSpec[] = [];
  #rounds = 0;
  #exhausted = false;

  constructor(workload: WorkloadOptions, cacheDir: string) {
    this.#workload = workload;
    this.#cacheDir = cacheDir;
  }

  /** What must stand beside every result with these prompts. */
  get notes(): readonly string[] {
    return [...this.#notes];
  }

  /** The prompts of the workload, and as many more as make `count`. Fewer than `num_prompts` where the dataset has no more. */
  async atLeast(count: number, making: PromptMaking): Promise<readonly RequestSpec[]> {
    if (this.#rounds === 0) await this.#round(making);
    while (this.#prompts.length < count && !this.#exhausted) await this.#round(making);
    return this.#prompts;
  }

  /**
   * `count` prompts of the same shape that no measured load sends. The rows of a file would be sent again later, so its
   * warm-up is made of random prompts of the same mean lengths.
   */
  async warmups(count: number, making: PromptMaking): Promise<readonly RequestSpec[]> {
    if (this.#warmups.length >= count) return this.#warmups.slice(0, count);
    const workload = this.#workload;
    const { tokenizer } = making;
    const measured = await this.atLeast(1, making);
    const ownClock = measured[0]?.dueS !== undefined;
    if ((datasetNamed(workload.dataset_name).pinsOutput && !ownClock) || tokenizer === null) {
      const { requests } = await this.#make(workload, warmupSeedOffset, count, making);
      this.#warmups = requests;
    } else {
      const mean = (of: (spec: RequestSpec) => number): number =>
        Math.max(2, Math.round(measured.reduce((sum, spec) => sum + of(spec), 0) / measured.length));
      const alike = {
        ...workload,
        dataset_name: 'random' as const,
        dataset_path: undefined,
        random_input_len: mean((spec) => spec.promptTokens) + tokenizer.specialTokenCount,
        random_output_len: mean((spec) => spec.outputTokens),
        random_range_ratio: 0.5,
        random_prefix_len: 0,
      };
      this.#warmups = (await this.#make(alike, warmupSeedOffset, count, making)).requests;
    }
    return this.#warmups.slice(0, count);
  }

  async #round(making: PromptMaking): Promise<void> {
    const { requests, notes } = await this.#make(this.#workload, this.#rounds++, this.#workload.num_prompts, making);
    for (const note of notes) this.#notes.add(note);
    if (requests.length < this.#workload.num_prompts) this.#exhausted = true;
    for (const spec of requests) this.#prompts.push({ ...spec, index: this.#prompts.length });
  }

  #make(workload: WorkloadOptions, seedOffset: number, count: number, making: PromptMaking): Promise<Made> {
    const seed = (workload.seed + seedOffset) % 2 ** 32;
    const { tokenizer, signal, onProgress } = making;
    return cachedMake(datasetNamed(workload.dataset_name), { ...workload, seed }, count, {
      tokenizer,
      signal,
      serverTemplates: endpointNamed(workload.backend).templates,
      cacheDir: this.#cacheDir,
      ...(onProgress ? { onProgress } : {}),
    });
  }
}
