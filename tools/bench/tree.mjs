// The CPU time of a process tree while it runs. Linux only: elsewhere there is no cheap way to read it.
import { readdirSync, readFileSync } from 'node:fs';

/** Of /proc/PID/stat, on every Linux that Node runs on. */
const ticksPerS = 100;

/** User and system time of a process and all its descendants, ended ones included, seconds; null where it cannot be read. */
export function treeCpuS(root) {
  const processes = readProcesses();
  if (!processes.some(({ pid }) => pid === root)) return null;
  const family = new Set([root]);
  let size = 0;
  while (size < family.size) {
    size = family.size;
    for (const { pid, parent } of processes) if (family.has(parent)) family.add(pid);
  }
  return processes.filter(({ pid }) => family.has(pid)).reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerS;
}

function readProcesses() {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(name) : []));
  } catch {
    return [];
  }
}

function readProcess(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is a name in brackets, which may hold blanks and brackets itself.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return [
      {
        pid: Number(pid),
        parent: Number(fields[1]),
        // utime, stime, and those of the children that were waited for.
        ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
      },
    ];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}
