import os from 'node:os';
import { messageOf, type Problem, ServetuneError } from '../kit/errors.ts';
import { type RunResult, runToEnd } from '../processes/run.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuHolder, GpuReading } from '../records/telemetry.ts';

/** The environment that engines are started in: the tools are looked up where the engine would be. */
export type Environment = Readonly<Record<string, string>>;

/** Runs a vendor's tool to its end and returns what it printed. Throws a ServetuneError `gpu_tool_failed`. */
export type RunTool = (argv: readonly string[]) => Promise<string>;

/** The program by which a vendor tells about its GPUs. */
export interface GpuTool {
  readonly vendor: Gpu['vendor'];
  /** Name of the program. */
  readonly program: string;
  /** All GPUs that it lists. */
  list(run: RunTool): Promise<readonly Gpu[]>;
  /** How to read them; asks the installed version what it can tell. */
  meter(run: RunTool): Promise<Meter>;
  /** Processes that hold memory of a GPU. */
  holders(gpu: Gpu, run: RunTool): Promise<readonly GpuHolder[]>;
}

export interface Meter {
  /** Prints one reading of every GPU, and ends. */
  readonly once: readonly string[];
  /** Prints readings until it is ended. */
  loop(everyS: number): readonly string[];
  /** What ends a whole record in the output of the loop. */
  readonly recordEnd: string;
  /** The readings in what was printed; what is cut or no reading is left out. */
  parse(text: string): readonly GpuReading[];
}

/** A driver that is stuck does not answer at all. */
const toolTimeoutS = 15;

/** What a tool says when something is wrong, and what mends it. */
const remedies: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/communicate with the NVIDIA driver/i, 'load the driver (modprobe nvidia), or install the one for this kernel'],
  [/version mismatch/i, 'the driver was updated while it was loaded: restart the machine'],
  [/Failed to initialize NVML: Unknown Error/i, 'start this container again: it has lost its rights to the GPUs'],
  [/GPU is lost|unable to determine the device handle/i, 'restart the machine: a GPU fell off the bus (dmesg: Xid 79)'],
  [/no devices were found/i, 'look whether the driver sees a GPU (lspci, dmesg)'],
  [/permission|render|video/i, 'add this user to the groups video and render, then log in again'],
];

/** The failure of a tool in its own words: its last line, or how it ended. */
export function toolFailure(program: string, said: string, end: string): ServetuneError {
  const line = said.trim().split('\n').at(-1)?.trim() || end;
  const hint = remedies.find(([pattern]) => pattern.test(said))?.[1] ?? `look at what \`${program}\` prints`;
  return new ServetuneError('gpu_tool_failed', `${program}: ${line}`, { hint });
}

/** Runs tools in an environment. */
export function toolRunner(environment: Environment, signal: AbortSignal): RunTool {
  return async (argv) => {
    const program = argv[0] ?? '';
    const result = await runToEnd(argv, { env: environment, timeoutS: toolTimeoutS, signal });
    if (result.timedOut) throw toolFailure(program, '', `no answer in ${toolTimeoutS} s`);
    if (result.code !== 0) throw toolFailure(program, saidBy(result), endOf(result));
    return result.stdout;
  };
}

/** `nvidia-smi` complains on standard output, others on standard error. */
const saidBy = ({ stdout, stderr }: RunResult): string => (stdout.trim() === '' ? stderr : stdout);

/** How a program ended, in words. */
export const endOf = ({ code, signal }: Pick<RunResult, 'code' | 'signal'>): string =>
  signal === null ? `exit code ${code}` : `ended by ${signal}`;

/** An error of a tool as something to show, which stops nothing. */
export const problemOf = (place: string, error: unknown): Problem => ({
  place,
  message: messageOf(error).replace(`${place}: `, ''),
  ...(error instanceof ServetuneError && error.hint !== undefined ? { hint: error.hint } : {}),
});

/** A number as tools print it, else null: `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `-`, nothing. */
export const numberIn = (cell: string | undefined): number | null =>
  cell !== undefined && /^[+-]?\d+(\.\d+)?$/.test(cell.trim()) ? Number(cell) : null;

/** Memory of a GPU that has none of its own (GB10, Jetson, APUs) and prints none: the machine's, which it shares. */
export const sharedMemoryMiB = (): number => Math.floor(os.totalmem() / 2 ** 20);

/** A percentage as a share, 0 to 1. */
export const shareOf = (percent: number | null): number | null => (percent === null ? null : percent / 100);

const marker = '-- servetune: end of record --';

/**
 * A command again and again, for tools that have no loop of their own that can be read: one process to watch, whatever
 * the tool starts.
 */
export const shellLoop = (argv: readonly string[]): Pick<Meter, 'loop' | 'recordEnd'> => ({
  loop: (everyS) => [
    '/bin/sh',
    '-c',
    `while :; do "$@"; printf '\\n%s\\n' "$0"; sleep ${Math.max(0.1, everyS)}; done`,
    marker,
    ...argv,
  ],
  recordEnd: `${marker}\n`,
});
