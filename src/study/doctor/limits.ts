import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import { InputError } from '../../kit/errors.ts';
import { formatBytes, formatNumber } from '../../kit/words.ts';
import { checkOpenFiles, openFileLimit } from '../../load/preflight.ts';
import { portFrom } from '../../processes/ports.ts';
import { firstPort } from '../running-engine.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/** Requests in flight of the largest workload that `servetune init` writes. */
export const usualConcurrency = 1000;

/** Processes and threads below which an engine that compiles kernels in parallel may be refused one. */
const fewProcesses = 4096;
/** Shared memory that several GPUs need between their processes; a container has 64 MiB unless it is told otherwise. */
const littleSharedMemory = 1024 ** 3;
/** Main memory that an engine needs beside the weights that it reads through it. */
const littleMemory = 16 * 1024 ** 3;

/** What the system allows: files, processes, ports, shared memory, main memory. */
export async function limitFindings(gpuCount: number): Promise<readonly Finding[]> {
  return [
    openFilesFinding(usualConcurrency, openFileLimit()),
    ...processesFinding(processLimit()),
    portFinding(await portFrom(firstPort)),
    ...portRangeFinding(ephemeralPorts()),
    ...sharedMemoryFinding(sharedMemoryBytes(), gpuCount),
    memoryFinding(memoryLimit(), os.freemem(), gpuCount),
  ];
}

/** Whether so many connections at once can be had; `limit` is null where there is none. */
export function openFilesFinding(concurrency: number, limit: number | null): Finding {
  const what = 'open files';
  try {
    checkOpenFiles(concurrency, limit);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const [{ message, hint } = { message: error.message }] = error.problems;
    return problem(what, message, hint ?? 'raise the limit: ulimit -n');
  }
  const allowed = limit === null ? 'no limit' : `${formatNumber(limit, 'en')} allowed`;
  return ok(what, `${allowed}, enough for ${formatNumber(concurrency, 'en')} requests at once`);
}

export function processesFinding(limit: number | null): readonly Finding[] {
  if (limit === null) return [ok('processes', 'no limit')];
  const message = `${formatNumber(limit, 'en')} processes and threads allowed`;
  if (limit >= fewProcesses) return [ok('processes', message)];
  return [
    note(
      'processes',
      `${message}: engines start hundreds and may be refused one`,
      `raise it: ulimit -u ${fewProcesses}, or docker run --pids-limit`,
    ),
  ];
}

export const portFinding = (free: number): Finding =>
  free === firstPort
    ? ok('ports', `${firstPort} is free`)
    : note('ports', `${firstPort} is taken; engines will be started on ${free} or above`);

/** The ports that the system gives to outgoing connections; those must not be the ones that engines listen on. */
export function portRangeFinding(range: readonly [low: number, high: number] | null): readonly Finding[] {
  if (range === null) return [];
  const [low, high] = range;
  const findings: Finding[] = [];
  if (low <= firstPort) {
    findings.push(
      note(
        'outgoing ports',
        `begin at ${low}, so a connection may take the port that an engine was given`,
        'sudo sysctl -w net.ipv4.ip_local_port_range="32768 60999"',
      ),
    );
  }
  if (high - low + 1 < 4 * usualConcurrency) {
    findings.push(
      note(
        'outgoing ports',
        `only ${high - low + 1}: loads one after the other may run out of them`,
        'sudo sysctl -w net.ipv4.ip_local_port_range="32768 60999"',
      ),
    );
  }
  return findings;
}

export function sharedMemoryFinding(bytes: number | null, gpuCount: number): readonly Finding[] {
  if (bytes === null) return [];
  const what = '/dev/shm';
  const size = formatBytes(bytes, 'en');
  if (bytes >= littleSharedMemory) return [ok(what, size)];
  const hint = 'docker run --ipc=host or --shm-size=16g; else sudo mount -o remount,size=16g /dev/shm';
  if (gpuCount > 1) return [problem(what, `${size} is too little for engines that use several GPUs`, hint)];
  return [note(what, `${size}; engines pass data between their processes through it`, hint)];
}

export function memoryFinding(totalBytes: number, freeBytes: number, gpuCount: number): Finding {
  const what = 'memory';
  const message = `${formatBytes(totalBytes, 'en')}, of which ${formatBytes(Math.min(totalBytes, freeBytes), 'en')} are free`;
  if (gpuCount === 0 || totalBytes >= littleMemory) return ok(what, message);
  return note(what, `${message}: little for an engine that loads weights onto a GPU`, 'give the machine more memory');
}

/** Processes and threads that this user, or this container, may have; null where there is no limit. */
function processLimit(): number | null {
  const own = /^Max processes\s+(\d+)/m.exec(textOf('/proc/self/limits') ?? '')?.[1];
  const group = controlGroupNumber('pids.max');
  const limits = [own === undefined ? null : Number(own), group].filter((limit) => limit !== null);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Main memory that this process may use, bytes. */
function memoryLimit(): number {
  const group = controlGroupNumber('memory.max');
  return group === null ? os.totalmem() : Math.min(group, os.totalmem());
}

/** A limit of the control group that this process is in; null where there is none, or no version 2 of control groups. */
function controlGroupNumber(file: string): number | null {
  const group = /^0::(\S*)/m.exec(textOf('/proc/self/cgroup') ?? '')?.[1] ?? '/';
  // Within a container its own group may stand at the root, whatever its path is outside.
  for (const folder of [`/sys/fs/cgroup${group}`, '/sys/fs/cgroup']) {
    const text = textOf(`${folder}/${file}`)?.trim();
    if (text !== undefined && /^\d+$/.test(text)) return Number(text);
  }
  return null;
}

function ephemeralPorts(): readonly [number, number] | null {
  const match = /^(\d+)\s+(\d+)/.exec(textOf('/proc/sys/net/ipv4/ip_local_port_range') ?? '');
  return match ? [Number(match[1]), Number(match[2])] : null;
}

function sharedMemoryBytes(): number | null {
  try {
    const { blocks, bsize } = statfsSync('/dev/shm');
    return blocks * bsize;
  } catch {
    return null; // macOS has none
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
