import { ServetuneError } from '../kit/errors.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuHolder } from '../records/telemetry.ts';
import { type GpuTool, numberIn, sharedMemoryMiB, shareOf, shellLoop } from './gpu-tool.ts';

/** One chip, as the table of `npu-smi info` shows it in two rows. */
interface Chip {
  /** Card and chip, by which the table's processes are told apart. */
  readonly place: string;
  readonly name: string;
  readonly powerW: number | null;
  readonly temperatureC: number | null;
  readonly utilization: number | null;
  readonly usedMiB: number | null;
  readonly totalMiB: number | null;
}

const info = ['npu-smi', 'info'];

/**
 * The table is made for people, but it is the one answer that all releases have: the per-card queries differ. A card is
 * a row with its name, health, power and temperature; under it stands each of its chips with bus address and use.
 */
function chipsIn(text: string): readonly Chip[] {
  const chips: Chip[] = [];
  let card: { npu: string; name: string; powerW: number | null; temperatureC: number | null } | undefined;
  for (const row of rowsIn(text)) {
    const [first = '', second = '', third = ''] = row;
    const named = /^(\d+)\s+([A-Za-z0-9]\S*)$/.exec(first);
    const isChip = /^[0-9a-f]{4,8}:[0-9a-f]{2}:/i.test(second);
    if (row.length === 3 && isChip && card) {
      const chip = first.split(/\s+/)[0] ?? '';
      // Last comes the HBM; parts without HBM have only the memory before it.
      const pairs = [...third.matchAll(/(\d+)\s*\/\s*(\d+)/g)].map(([, used, total]) => [Number(used), Number(total)]);
      const [usedMiB = null, totalMiB = null] = pairs.findLast(([, total]) => (total ?? 0) > 0) ?? [];
      const utilization = shareOf(numberIn(third.split(/\s+/)[0]));
      const { name, powerW, temperatureC } = card;
      chips.push({ place: `${card.npu}/${chip}`, name, powerW, temperatureC, utilization, usedMiB, totalMiB });
    } else if (row.length === 3 && named) {
      const [power, temperature] = third.split(/\s+/);
      card = {
        npu: named[1] ?? '',
        name: named[2] ?? '',
        powerW: numberIn(power),
        temperatureC: numberIn(temperature),
      };
    }
  }
  return chips;
}

const rowsIn = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.trimStart().startsWith('|'))
    .map((line) =>
      line
        .trim()
        .replace(/^\||\|$/g, '')
        .split('|')
        .map((cell) => cell.trim()),
    );

export const npuSmi: GpuTool = {
  vendor: 'ascend',
  program: 'npu-smi',

  async list(run) {
    const text = await run(info);
    const driver = /Version:\s*(\S+)/.exec(text)?.[1] ?? '';
    const gpus = chipsIn(text).map(
      (chip, index): Gpu => ({
        vendor: 'ascend',
        index,
        // What `ASCEND_RT_VISIBLE_DEVICES` takes: the position in this list.
        uuid: String(index),
        name: chip.name,
        memoryMiB: chip.totalMiB ?? sharedMemoryMiB(),
        computeCapability: null,
        driver,
        powerLimitW: null,
      }),
    );
    if (gpus.length > 0) return gpus;
    throw new ServetuneError('gpu_tool_failed', 'npu-smi: no NPU in what it printed');
  },

  async meter(run) {
    await run(info);
    return {
      once: info,
      ...shellLoop(info),
      parse: (text) =>
        chipsIn(text).map(({ usedMiB, utilization, powerW, temperatureC }, index) => ({
          index,
          memoryUsedMiB: usedMiB,
          utilization,
          powerW,
          smClockMHz: null,
          temperatureC,
          throttle: null,
        })),
    };
  },

  async holders(gpu, run) {
    const text = await run(info);
    const place = chipsIn(text)[gpu.index]?.place;
    return rowsIn(text).flatMap(([where = '', pid, name = '', memory]): GpuHolder[] => {
      const number = numberIn(pid);
      if (number === null || memory === undefined || where.split(/\s+/).join('/') !== place) return [];
      return [{ pid: number, name, memoryMiB: numberIn(memory) }];
    });
  },
};
