import { messageOf, ServetuneError } from '../kit/errors.ts';
import type { Gpu } from '../records/gpu.ts';
import { type GpuHolder, type GpuReading, type ThrottleReason, throttleReasons } from '../records/telemetry.ts';
import { type GpuTool, numberIn, type RunTool, sharedMemoryMiB, shareOf } from './gpu-tool.ts';

const program = 'nvidia-smi';

/** What is asked for, by what we call it: the field's name, and the names that it has in other drivers. */
export type Fields = Readonly<Record<string, readonly string[]>>;

export const identityFields = {
  index: ['index'],
  uuid: ['uuid'],
  name: ['name'],
  memory: ['memory.total'],
  driver: ['driver_version'],
  powerLimit: ['power.limit'],
  computeCapability: ['compute_cap'],
} as const satisfies Fields;

/**
 * `power.draw` is the mean over the last second since Ampere, which is what sampling once a second needs; the
 * instantaneous reading would miss what lies between two samples. The throttle fields were renamed in driver 535.
 */
export const readingFields = {
  index: ['index'],
  memory: ['memory.used'],
  utilization: ['utilization.gpu'],
  power: ['power.draw'],
  smClock: ['clocks.current.sm', 'clocks.sm'],
  temperature: ['temperature.gpu'],
  throttle: ['clocks_event_reasons.active', 'clocks_throttle_reasons.active'],
} as const satisfies Fields;

const queryOf = (fields: readonly string[]): readonly string[] => [
  program,
  `--query-gpu=${fields.join(',')}`,
  '--format=csv,noheader,nounits',
];

/** What the installed driver can be asked for, and its answer. */
interface Query<K extends string> {
  readonly argv: readonly string[];
  readonly text: string;
  /** The cells of a line by key; undefined when the line is cut, or a message. A field that was dropped is absent. */
  cells(line: string): Readonly<Partial<Record<K, string>>> | undefined;
}

/**
 * One field that a driver does not know fails the whole query, and only the first such field is named. So each is
 * replaced by its other name, or dropped, until the query passes.
 */
async function query<K extends string>(
  run: RunTool,
  fields: Readonly<Record<K, readonly string[]>>,
): Promise<Query<K>> {
  const left = new Map(Object.entries<readonly string[]>(fields).map(([key, names]) => [key as K, [...names]]));
  for (;;) {
    const columns = [...left].map(([key, names]) => [key, names[0] as string] as const);
    const argv = queryOf(columns.map(([, name]) => name));
    try {
      const text = await run(argv);
      const cells: Query<K>['cells'] = (line) => {
        const values = line.split(',').map((cell) => cell.trim());
        if (values.length !== columns.length) return undefined;
        return Object.fromEntries(columns.map(([key], i) => [key, values[i]])) as Partial<Record<K, string>>;
      };
      return { argv, text, cells };
    } catch (error) {
      const unknown = /Field "(.+?)" is not a valid field/.exec(messageOf(error))?.[1];
      const column = columns.find(([, name]) => name === unknown);
      if (column === undefined) throw error;
      const names = left.get(column[0]) ?? [];
      names.shift();
      if (names.length === 0) left.delete(column[0]);
      if (left.size === 0) throw error;
    }
  }
}

export const nvidiaSmi: GpuTool = {
  vendor: 'nvidia',
  program,

  async list(run) {
    const { text, cells } = await query(run, identityFields);
    const gpus = linesOf(text).flatMap((line) => {
      const found = cells(line);
      const index = numberIn(found?.index);
      if (found === undefined || index === null) return [];
      const capability = numberIn(found.computeCapability);
      const gpu: Gpu = {
        vendor: 'nvidia',
        index,
        uuid: found.uuid ?? '',
        name: found.name ?? '',
        memoryMiB: numberIn(found.memory) ?? sharedMemoryMiB(),
        computeCapability: capability === null ? null : Math.round(capability * 10),
        driver: found.driver ?? '',
        powerLimitW: numberIn(found.powerLimit),
      };
      return [gpu];
    });
    if (gpus.length > 0) return gpus;
    throw new ServetuneError('gpu_tool_failed', `${program}: no GPU in what it printed: ${text.trim().slice(0, 200)}`);
  },

  async meter(run) {
    const { argv, cells } = await query(run, readingFields);
    return {
      once: argv,
      // It writes each line at once, also into a pipe.
      loop: (everyS) => [...argv, `--loop-ms=${Math.max(100, Math.round(everyS * 1000))}`],
      recordEnd: '\n',
      parse: (text) => linesOf(text).flatMap((line) => readingIn(cells(line)) ?? []),
    };
  },

  async holders(gpu, run) {
    const columns = 'pid,process_name,used_memory,gpu_uuid';
    const text = await run([program, `--query-compute-apps=${columns}`, '--format=csv,noheader,nounits']);
    return linesOf(text).flatMap((line): GpuHolder[] => {
      // The name stands in the middle and may itself hold commas.
      const cells = line.split(',').map((cell) => cell.trim());
      const pid = numberIn(cells[0]);
      if (pid === null || cells.length < 4 || cells.at(-1) !== gpu.uuid) return [];
      return [{ pid, name: cells.slice(1, -2).join(', '), memoryMiB: numberIn(cells.at(-2)) }];
    });
  },
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line.trim() !== '');

function readingIn(
  cells: Readonly<Partial<Record<keyof typeof readingFields, string>>> | undefined,
): GpuReading | null {
  const index = numberIn(cells?.index);
  if (cells === undefined || index === null) return null;
  return {
    index,
    memoryUsedMiB: numberIn(cells.memory),
    utilization: shareOf(numberIn(cells.utilization)),
    powerW: numberIn(cells.power),
    smClockMHz: numberIn(cells.smClock),
    temperatureC: numberIn(cells.temperature),
    throttle: reasonsIn(cells.throttle),
  };
}

/** The bits of NVML's mask `nvmlClocksEventReasons` (`0x0000000000000004`) as names; null of anything else. */
export function reasonsIn(mask: string | undefined): readonly ThrottleReason[] | null {
  if (mask === undefined || !/^0x[0-9a-f]+$/i.test(mask)) return null;
  const bits = BigInt(mask);
  return throttleReasons.filter((_, bit) => (bits >> BigInt(bit)) & 1n);
}
