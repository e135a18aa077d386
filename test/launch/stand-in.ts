import { mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Settings } from '../../src/records/settings.ts';
import { studySpec } from '../../src/records/study.ts';
import { engineNamed } from '../../src/study/places.ts';
import { type EngineStart, startEngine } from '../../src/study/running-engine.ts';
import { eventually } from '../processes/living.ts';

/** Programs that act like engines, to be first on PATH. */
const bin = resolve(import.meta.dirname, '../standins/bin');

/** What a stand-in does: see `test/standins/README.md`. */
export type Does = Readonly<Record<string, unknown>>;

/** How stand-ins shall behave, and how their processes are found again, whatever they are called and wherever they went. */
export interface StandIns {
  readonly env: Readonly<Record<string, string>>;
  /** Numbers of the processes that were started with this environment and live. */
  alive(): readonly number[];
}

let count = 0;

export function standIns(all: Does, when: readonly { readonly has: string; readonly does: Does }[] = []): StandIns {
  const mark = `STAND_IN_MARK=${process.pid}-${++count}-${performance.now()}`;
  const [name, value] = mark.split('=') as [string, string];
  return {
    env: { PATH: `${bin}:${process.env.PATH}`, STAND_IN: JSON.stringify({ all, when }), [name]: value },
    alive: () => pids().filter((pid) => pid !== process.pid && environmentOf(pid).includes(mark)),
  };
}

const pids = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

/** Empty of a zombie, which holds nothing any more. */
function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Whether somebody of these, or nobody that can be seen, listens on a port. Other programs may. */
export function isTaken(port: number, ours: StandIns): boolean {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => readFileSync(path, 'latin1').split('\n').slice(1));
  const sockets = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(wanted) && state === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
  if (sockets.length === 0) return false;
  const owners = pids().filter((pid) => linksOf(pid).some((link) => sockets.includes(link)));
  return owners.length === 0 || owners.some((pid) => ours.alive().includes(pid));
}

function linksOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    });
  } catch {
    return [];
  }
}

/** Nothing of the stand-ins is alive, and none of their ports is taken, at the latest after so many seconds. */
export async function expectNothingLeft(ours: StandIns, ports: readonly number[], withinS = 5): Promise<void> {
  // A port looks taken by nobody where another program gave it up between the two looks: so this is asked again, too.
  const left = (): unknown => ({ alive: ours.alive(), taken: ports.filter((port) => isTaken(port, ours)) });
  const nothing = { alive: [], taken: [] };
  await eventually(() => isDeepStrictEqual(left(), nothing), withinS).catch(() => undefined);
  expect(left()).toEqual(nothing);
}

export interface Attempt {
  readonly start: EngineStart;
  readonly port: number;
  readonly dir: string;
}

/** Starts a stand-in as a study does, and waits until it is ready or given up. */
export async function attempt(
  ours: StandIns,
  more: {
    readonly engine?: string;
    readonly model?: string;
    readonly settings?: Settings;
    readonly limits?: Readonly<Record<string, number>>;
    readonly signal?: AbortSignal;
    readonly dir?: string;
  } = {},
): Promise<Attempt> {
  const { engine = 'vllm', model = 'Qwen/Qwen3-14B', settings = {}, dir = emptyFolder() } = more;
  const study = studySpec.parse({
    name: 'launch',
    model,
    engines: [engine],
    baseline: { engine },
    stages: [],
    workloads: [{ name: 'chat', random_input_len: 16, random_output_len: 8, num_prompts: 8, max_concurrency: 4 }],
    limits: { start_timeout_s: 30, stall_timeout_s: 20, ...more.limits },
  });
  const start = await startEngine(
    engineNamed(engine),
    { engine, settings },
    { study, environment: ours.env, dir, signal: more.signal ?? new AbortController().signal },
  );
  return { start, port: Number(start.baseUrl.port), dir };
}

/** A folder that looks like a checkpoint of Qwen3-14B, so that a study finds its weights without a network. */
export function modelFolder(): string {
  const dir = emptyFolder();
  const config = {
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    hidden_size: 5120,
    max_position_embeddings: 40960,
    num_attention_heads: 40,
    num_hidden_layers: 40,
    num_key_value_heads: 8,
    torch_dtype: 'bfloat16',
  };
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  writeFileSync(join(dir, 'model.safetensors'), '');
  return dir;
}

export const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'servetune-launch-'));
