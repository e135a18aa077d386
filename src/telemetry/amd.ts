import { ServetuneError } from '../kit/errors.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuHolder, GpuReading, ThrottleReason } from '../records/telemetry.ts';
import { type GpuTool, numberIn, sharedMemoryMiB, shareOf, shellLoop } from './gpu-tool.ts';

/** A value of unknown make inside JSON; `at` follows keys and gives undefined where one is missing. */
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
    value,
  );

/** Leaves are `{"value": 12, "unit": "W"}`, bare numbers or strings by release; null of `"N/A"` and of nothing. */
function numberAt(value: unknown, ...path: readonly string[]): number | null {
  const leaf = at(value, ...path);
  const bare = typeof leaf === 'object' ? at(leaf, 'value') : leaf;
  return typeof bare === 'number' ? bare : typeof bare === 'string' ? numberIn(bare) : null;
}

const textAt = (value: unknown, ...path: readonly string[]): string => {
  const leaf = at(value, ...path);
  return typeof leaf === 'string' && leaf !== 'N/A' ? leaf.trim() : '';
};

const mebibytes = (bytes: number | null): number | null => (bytes === null ? null : Math.round(bytes / 2 ** 20));

/** First that is there. */
const firstOf = (...values: readonly (number | null)[]): number | null => values.find((v) => v !== null) ?? null;

/** The JSON in an output that may begin with warnings; undefined when there is none, or it is cut. */
function jsonIn(text: string): unknown {
  const start = text.search(/^\s*[[{]/m);
  if (start < 0) return undefined;
  try {
    return JSON.parse(text.slice(start));
  } catch {
    return undefined;
  }
}

/** One entry a GPU: `{"gpu_data": [...]}` since ROCm 7, a bare array before. */
function entriesIn(text: string): readonly unknown[] {
  const json = jsonIn(text);
  const entries = Array.isArray(json) ? json : at(json, 'gpu_data');
  return Array.isArray(entries) ? entries : [];
}

const amdMetric = ['amd-smi', 'metric', '--json'];

export const amdSmi: GpuTool = {
  vendor: 'amd',
  program: 'amd-smi',

  async list(run) {
    const uuids = new Map(entriesIn(await run(['amd-smi', 'list', '--json'])).map((e) => [numberAt(e, 'gpu'), e]));
    const gpus = entriesIn(await run(['amd-smi', 'static', '--json'])).flatMap((entry) => {
      const index = numberAt(entry, 'gpu');
      if (index === null) return [];
      const gpu: Gpu = {
        vendor: 'amd',
        index,
        uuid: rocrUuid(textAt(entry, 'asic', 'asic_serial')) ?? textAt(uuids.get(index), 'uuid'),
        name: textAt(entry, 'asic', 'market_name'),
        memoryMiB: numberAt(entry, 'vram', 'size') ?? sharedMemoryMiB(),
        computeCapability: null,
        driver: textAt(entry, 'driver', 'version'),
        powerLimitW: firstOf(
          numberAt(entry, 'limit', 'ppt0', 'socket_power_limit'),
          numberAt(entry, 'limit', 'socket_power'),
          numberAt(entry, 'limit', 'max_power'),
        ),
      };
      return [gpu];
    });
    return someOf('amd-smi', gpus);
  },

  async meter(run) {
    await run(amdMetric);
    return { once: amdMetric, ...shellLoop(amdMetric), parse: (text) => entriesIn(text).flatMap(amdReading) };
  },

  async holders(gpu, run) {
    const entry = entriesIn(await run(['amd-smi', 'process', '--json'])).find((e) => numberAt(e, 'gpu') === gpu.index);
    const list = at(entry, 'process_list');
    return (Array.isArray(list) ? list : []).flatMap((process): GpuHolder[] => {
      const info = at(process, 'process_info') ?? process;
      const pid = numberAt(info, 'pid');
      if (pid === null) return [];
      const memory = numberAt(info, 'memory_usage', 'vram_mem');
      const unit = textAt(info, 'memory_usage', 'vram_mem', 'unit');
      return [{ pid, name: textAt(info, 'name'), memoryMiB: unit === 'B' ? mebibytes(memory) : memory }];
    });
  },
};

function amdReading(entry: unknown): GpuReading[] {
  const index = numberAt(entry, 'gpu');
  if (index === null) return [];
  return [
    {
      index,
      // What it calls MB is bytes / 2^20.
      memoryUsedMiB: numberAt(entry, 'mem_usage', 'used_vram'),
      utilization: shareOf(numberAt(entry, 'usage', 'gfx_activity')),
      powerW: firstOf(
        numberAt(entry, 'power', 'socket_power'),
        numberAt(entry, 'power', 'current_socket_power'),
        numberAt(entry, 'power', 'average_socket_power'),
      ),
      smClockMHz: numberAt(entry, 'clock', 'gfx_0', 'clk'),
      temperatureC: firstOf(numberAt(entry, 'temperature', 'hotspot'), numberAt(entry, 'temperature', 'edge')),
      throttle: violationsIn(at(entry, 'throttle')),
    },
  ];
}

/** AMD's violations by the names that NVIDIA gives to the same causes: package power, and heat wherever it was. */
const violations = {
  ppt_violation_status: 'sw_power_cap',
  prochot_violation_status: 'hw_thermal_slowdown',
  socket_thermal_violation_status: 'hw_thermal_slowdown',
  vr_thermal_violation_status: 'hw_thermal_slowdown',
  hbm_thermal_violation_status: 'hw_thermal_slowdown',
} as const satisfies Record<string, ThrottleReason>;

/** Told by MI300 and later only. */
function violationsIn(throttle: unknown): readonly ThrottleReason[] | null {
  const told = Object.entries(violations).filter(([key]) => textAt(throttle, key) !== '');
  if (told.length === 0) return null;
  const active = told.filter(([key]) => textAt(throttle, key).toUpperCase() === 'ACTIVE');
  return [...new Set(active.map(([, reason]) => reason))];
}

/** The name by which `ROCR_VISIBLE_DEVICES` knows a card: its unique number in 16 hexadecimal digits. APUs have none. */
const rocrUuid = (serial: string): string | undefined =>
  /^(0x)?[0-9a-f]{1,16}$/i.test(serial) && /[1-9a-f]/i.test(serial.replace(/^0x/i, ''))
    ? `GPU-${serial.replace(/^0x/i, '').toLowerCase().padStart(16, '0')}`
    : undefined;

function someOf(program: string, gpus: readonly Gpu[]): readonly Gpu[] {
  if (gpus.length > 0) return gpus;
  throw new ServetuneError('gpu_tool_failed', `${program}: no GPU in what it printed`);
}

const rocmMetric = ['rocm-smi', '--showuse', '--showmeminfo', 'vram', '--showpower', '--showtemp', '-c', '--json'];

/** The older tool, for installations that have no `amd-smi`. Its names of values are sentences. */
export const rocmSmi: GpuTool = {
  vendor: 'amd',
  program: 'rocm-smi',

  async list(run) {
    const what = ['--showproductname', '--showuniqueid', '--showmeminfo', 'vram', '--showmaxpower'];
    const json = jsonIn(await run(['rocm-smi', ...what, '--showdriverversion', '--json']));
    const gpus = cardsIn(json).map(
      ([index, card]): Gpu => ({
        vendor: 'amd',
        index,
        uuid: rocrUuid(textAt(card, 'Unique ID')) ?? '',
        name: textAt(card, 'Card Series') || textAt(card, 'Card series') || textAt(card, 'Card Model'),
        memoryMiB: mebibytes(numberAt(card, 'VRAM Total Memory (B)')) ?? sharedMemoryMiB(),
        computeCapability: null,
        driver: textAt(json, 'system', 'Driver version'),
        powerLimitW: numberAt(card, 'Max Graphics Package Power (W)'),
      }),
    );
    return someOf('rocm-smi', gpus);
  },

  async meter(run) {
    await run(rocmMetric);
    return {
      once: rocmMetric,
      ...shellLoop(rocmMetric),
      parse: (text) => cardsIn(jsonIn(text)).map(([index, card]) => rocmReading(index, card)),
    };
  },

  /** It does not tell on which card a process runs: all of them are named. */
  async holders(_gpu, run) {
    const system = at(jsonIn(await run(['rocm-smi', '--showpids', '--json'])), 'system');
    return Object.entries(typeof system === 'object' && system !== null ? system : {}).flatMap(([key, value]) => {
      const pid = /^PID(\d+)$/.exec(key)?.[1];
      if (pid === undefined || typeof value !== 'string') return [];
      // Name, number of GPUs, bytes of memory, ...
      const [name = '', , bytes] = value.split(',').map((cell) => cell.trim());
      return [{ pid: Number(pid), name, memoryMiB: mebibytes(numberIn(bytes)) }];
    });
  },
};

const cardsIn = (json: unknown): readonly (readonly [index: number, card: unknown])[] =>
  Object.entries(typeof json === 'object' && json !== null ? json : {}).flatMap(([key, card]) => {
    const index = /^card(\d+)$/.exec(key)?.[1];
    return index === undefined ? [] : [[Number(index), card] as const];
  });

function rocmReading(index: number, card: unknown): GpuReading {
  return {
    index,
    memoryUsedMiB: mebibytes(numberAt(card, 'VRAM Total Used Memory (B)')),
    utilization: shareOf(numberAt(card, 'GPU use (%)')),
    powerW: firstOf(
      numberAt(card, 'Current Socket Graphics Package Power (W)'),
      numberAt(card, 'Average Graphics Package Power (W)'),
    ),
    smClockMHz: numberIn(/(\d+)\s*Mhz/i.exec(textAt(card, 'sclk clock speed:'))?.[1]),
    temperatureC: firstOf(
      numberAt(card, 'Temperature (Sensor junction) (C)'),
      numberAt(card, 'Temperature (Sensor edge) (C)'),
    ),
    throttle: null,
  };
}
