import type { Gpu } from '../records/gpu.ts';
import type { Environment } from './gpu-tool.ts';

/** The variables that hide GPUs from programs, in the order in which drivers apply them; of a group the first that is set. */
const variables: Readonly<Record<Gpu['vendor'], readonly (readonly string[])[]>> = {
  nvidia: [['CUDA_VISIBLE_DEVICES']],
  amd: [['ROCR_VISIBLE_DEVICES'], ['HIP_VISIBLE_DEVICES', 'CUDA_VISIBLE_DEVICES']],
  ascend: [['ASCEND_RT_VISIBLE_DEVICES']],
};

/** GPUs that programs are shown, and those that a variable hides from them. */
export interface VisibleGpus {
  readonly visible: readonly Gpu[];
  readonly hidden: readonly Gpu[];
  /** What hides them: `CUDA_VISIBLE_DEVICES=3`. */
  readonly by: string;
}

/**
 * Which of these GPUs of one vendor the environment leaves visible. An entry is a position in the vendor's list, or a
 * UUID or the beginning of one; as in CUDA, the first entry that is neither ends the list, and an empty list shows none.
 * A part of a GPU (`MIG-...`) stands for no whole one, so a list with one hides nothing here.
 */
export function visibleGpus(gpus: readonly Gpu[], environment: Environment): VisibleGpus {
  let visible = gpus;
  const by: string[] = [];
  for (const names of variables[gpus[0]?.vendor ?? 'nvidia']) {
    const name = names.find((one) => environment[one] !== undefined);
    if (name === undefined) continue;
    const value = environment[name] as string;
    const entries = value.trim() === '' ? [] : value.split(',').map((entry) => entry.trim());
    if (entries.some((entry) => entry.startsWith('MIG-'))) continue;
    const before = visible;
    const listed = new Set<Gpu>();
    for (const entry of entries) {
      const gpu = named(entry, before, before === gpus);
      if (gpu === undefined) break;
      listed.add(gpu);
    }
    visible = before.filter((gpu) => listed.has(gpu));
    if (visible.length < before.length) by.push(`${name}=${value}`);
  }
  return { visible, hidden: gpus.filter((gpu) => !visible.includes(gpu)), by: by.join(' ') };
}

/** What a second variable counts is what the first one has left. */
function named(entry: string, gpus: readonly Gpu[], all: boolean): Gpu | undefined {
  if (/^\d+$/.test(entry)) return all ? gpus.find(({ index }) => index === Number(entry)) : gpus[Number(entry)];
  if (!/^GPU-./i.test(entry)) return undefined;
  const found = gpus.filter(({ uuid }) => uuid.toLowerCase().startsWith(entry.toLowerCase()));
  return found.length === 1 ? found[0] : undefined;
}
