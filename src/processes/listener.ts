import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { trackFamily } from './family.ts';
import type { ProcessIdentity } from './tree.ts';

/** State LISTEN in `/proc/net/tcp`. */
const listening = '0A';

/**
 * Whether whoever listens on a TCP port of this machine belongs to the family of `root`. Null where that cannot be told:
 * no `/proc`, nobody listens, or the listener is another user's or in another namespace.
 */
export function listensOn(root: ProcessIdentity, port: number): boolean | null {
  const sockets = listeningSockets(port);
  if (sockets.size === 0) return null;
  const family = trackFamily(root);
  const has = (pid: number): boolean => socketsOf(pid).some((socket) => sockets.has(socket));
  if (family.running.some(({ pid }) => has(pid))) return true;
  const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return others.some((pid) => has(Number(pid))) ? false : null;
}

/** Inodes of the sockets that listen on a port, on any address. */
function listeningSockets(port: number): Set<string> {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const found = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let text: string;
    try {
      text = readFileSync(table, 'latin1');
    } catch {
      continue;
    }
    for (const line of text.split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === listening && local?.endsWith(`:${wanted}`) && inode) found.add(inode);
    }
  }
  return found;
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // closed meanwhile
      }
    });
  } catch {
    return []; // gone, or another user's
  }
}
