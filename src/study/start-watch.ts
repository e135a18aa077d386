import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import type { StartPart } from '../engines/engine.ts';
import { now } from '../kit/clock.ts';
import { trackFamily } from '../processes/family.ts';
import type { ProcessIdentity } from '../processes/tree.ts';
import type { StartPartName, StartParts } from '../records/trial.ts';

/** More CPU time than this share of a core is work; less is what answering our own questions costs. */
const busyShare = 0.1;
/** Growth of memory that is more than the noise of allocators, bytes. */
const growthBytes = 1 << 20;
/** Ticks of `/proc/PID/stat` a second, and bytes of a page, the same on every Linux that engines run on. */
const ticksPerS = 100;
const pageBytes = 4096;
/** Most of a log that is read at one look; the rest comes with the next. */
const mostBytes = 4 << 20;

/** An engine that does nothing any more, and is not ready. */
export interface Stall {
  /** How long there has been no sign of work, seconds. */
  readonly quietS: number;
  /** What it was doing. */
  readonly part: StartPartName;
  /** Its last line; empty when it printed none. */
  readonly lastLine: string;
}

/** What showed of an engine while it started. */
export interface StartSeen {
  readonly parts: StartParts;
  /** Fields of the requests that it refuses; absent where there are none. */
  readonly refusedFields?: readonly string[];
}

export interface StartWatch {
  /** When nothing has happened for too long; never settles otherwise. */
  readonly stalled: Promise<Stall>;
  /** From now on it is ready but for its first token: the last part. */
  healthy(): void;
  /** It generates, without these fields in the request. */
  generates(refusedFields: readonly string[]): void;
  /** Ends the watch, and tells what there was to see; a part counts up to now. */
  end(): StartSeen;
}

export interface StartWatchOptions {
  readonly root: ProcessIdentity;
  /** When it was started, by `kit/clock.ts`. */
  readonly beganS: number;
  readonly logPath: string;
  /** Where its own lines begin: an earlier try may have written to the same file. */
  readonly logFromByte: number;
  readonly parts: readonly StartPart[];
  /**
   * No line, no work and no growth of memory for this long is a stall; null where the engine's processes cannot be seen
   * (in a container), so that a quiet one may well be at work.
   */
  readonly stallTimeoutS: number | null;
  /** Called when processes of the engine came or went, with those that run. */
  onMembers?(members: readonly ProcessIdentity[]): void;
}

/** What a server logs of our own questions: no sign that it gets anywhere. */
const accessLine = /"(?:GET|POST|HEAD) \/\S* HTTP\/[\d.]+" \d{3}|log_server_r: /;

/**
 * Follows an engine while it starts: reads the times of its parts from its log, and sees when nothing happens any more.
 * Looks every second, more often where a stall would be over sooner; a part's time is as exact as that.
 */
export function watchStart(options: StartWatchOptions): StartWatch {
  const { stallTimeoutS, onMembers } = options;
  const log = followLog(options.logPath, options.logFromByte);
  const clock = partClock(options.parts, options.beganS);
  const work = workOf(options.root);
  let refusedFields: readonly string[] = [];
  let lastSignS = now();
  let lastLine = '';
  let isHealthy = false;
  let stall: (stall: Stall) => void;
  const stalled = new Promise<Stall>((resolve) => {
    stall = resolve;
  });

  function readLog(): void {
    const { lines, unfinished } = log.read();
    const own = lines.filter((line) => line.trim() !== '' && !accessLine.test(line));
    if (own.length > 0 || unfinished) lastSignS = now();
    lastLine = own.at(-1)?.trim() ?? lastLine;
    if (!isHealthy) for (const line of own) clock.line(line, now());
  }

  function look(): void {
    readLog();
    const { active, membersChanged, members } = work.look(now());
    if (membersChanged) onMembers?.(members);
    if (active) lastSignS = now();
    const quietS = now() - lastSignS;
    // Only Linux tells what processes use.
    if (stallTimeoutS === null || process.platform !== 'linux' || quietS < stallTimeoutS) return;
    clearInterval(timer);
    stall({ quietS, part: clock.current(), lastLine });
  }

  const timer = setInterval(look, Math.min(1, (stallTimeoutS ?? 10) / 10) * 1000);
  return {
    stalled,
    healthy() {
      if (isHealthy) return;
      readLog();
      isHealthy = true;
      clock.begin('first token', now());
    },
    generates(fields) {
      refusedFields = fields;
    },
    end() {
      clearInterval(timer);
      readLog();
      return { parts: clock.times(now()), ...(refusedFields.length === 0 ? {} : { refusedFields }) };
    },
  };
}

/** Adds up how long each part took. A part may come again: some engines record GPU work twice. */
export function partClock(
  parts: readonly StartPart[],
  beganS: number,
): {
  line(line: string, atS: number): void;
  begin(part: StartPartName, atS: number): void;
  current(): StartPartName;
  times(atS: number): StartParts;
} {
  const took = new Map<StartPartName, number>();
  let current: StartPartName = 'starting';
  let sinceS = beganS;
  function begin(part: StartPartName, atS: number): void {
    if (part === current) return;
    took.set(current, (took.get(current) ?? 0) + atS - sinceS);
    current = part;
    sinceS = atS;
  }
  return {
    begin,
    line(line, atS) {
      const begun = parts.find(({ pattern }) => pattern.test(line));
      if (begun) begin(begun.part, atS);
    },
    current: () => current,
    times(atS) {
      const all = new Map(took).set(current, (took.get(current) ?? 0) + atS - sinceS);
      return Object.fromEntries([...all].map(([part, s]) => [part, Math.round(s * 1000) / 1000]));
    },
  };
}

/** Lines of a log as they come. A progress bar overwrites its line: what stands between two carriage returns counts. */
function followLog(
  path: string,
  fromByte: number,
): { read(): { readonly lines: readonly string[]; readonly unfinished: boolean } } {
  const decoder = new StringDecoder('utf8');
  let at = fromByte;
  let rest = '';
  return {
    read() {
      const bytes = bytesFrom(path, at);
      if (bytes.length === 0) return { lines: [], unfinished: false };
      at += bytes.length;
      const pieces = (rest + decoder.write(bytes)).split(/[\r\n]/);
      rest = (pieces.pop() as string).slice(-10_000);
      return { lines: pieces.map((piece) => stripVTControlCharacters(piece)), unfinished: rest !== '' };
    },
  };
}

function bytesFrom(path: string, at: number): Buffer {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return Buffer.alloc(0); // removed meanwhile
  }
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(mostBytes, fstatSync(fd).size - at)));
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, at));
  } finally {
    closeSync(fd);
  }
}

interface Look {
  /** It computed, took more memory than ever, or started or ended a process, since the look before. */
  readonly active: boolean;
  readonly membersChanged: boolean;
  readonly members: readonly ProcessIdentity[];
}

/** Sees whether a process and its descendants are at work. */
function workOf(root: ProcessIdentity): { look(nowS: number): Look } {
  const family = trackFamily(root);
  let before = new Map<string, number>();
  let beforeS = now();
  let mostMemory = 0;
  let isFirst = true;
  return {
    look(nowS) {
      const membersChanged = family.refresh() || isFirst;
      isFirst = false;
      const cpuS = new Map<string, number>();
      let memory = 0;
      for (const { pid, startTime } of family.running) {
        const used = usedBy(pid);
        if (used === undefined) continue;
        cpuS.set(`${pid} ${startTime}`, used.cpuS);
        memory += used.memoryBytes;
      }
      let computedS = 0;
      for (const [id, s] of cpuS) computedS += s - (before.get(id) ?? 0);
      const grew = memory > mostMemory + growthBytes;
      if (grew) mostMemory = memory;
      const active = membersChanged || grew || computedS > busyShare * (nowS - beforeS);
      before = cpuS;
      beforeS = nowS;
      return { active, membersChanged, members: family.running };
    },
  };
}

/** CPU time since it began, and memory that is in RAM, of one process (Linux only). */
function usedBy(pid: number): { readonly cpuS: number; readonly memoryBytes: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      cpuS: (Number(fields[11]) + Number(fields[12])) / ticksPerS,
      memoryBytes: Number(fields[21]) * pageBytes,
    };
  } catch {
    return undefined; // it ended just now
  }
}
