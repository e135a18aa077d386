import { writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { systemCode } from '../../kit/errors.ts';
import type { Tallies } from './tallies.ts';

/** The way out to one client. */
export interface Wire {
  /**
   * Hands bytes to the system. `blocked`: the system took only a part, or nothing; the rest follows by itself, and
   * until `onFlushed` is called nothing more may be sent, so that no more than one write waits in this process.
   */
  send(bytes: Buffer, onFlushed: () => void): 'sent' | 'blocked' | 'gone';
}

/**
 * Writes past the stream machinery of `net.Socket`, straight to its descriptor: half the user time of `socket.write()`
 * a write, with no request object and no callback. It is non-blocking as libuv opened it, so what the system does not
 * take at once goes through the socket, which waits until it is writable. Where the socket shows no descriptor all goes
 * through the socket.
 */
export function openWire(socket: Socket, tallies: Tallies): Wire {
  const inner = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  const fd = inner._handle?.fd ?? -1;

  const wait = (rest: Buffer, onFlushed: () => void): 'sent' | 'blocked' => {
    // Finished at once, it is called back as well, after this has returned: then nobody must be woken.
    let blocked = false;
    socket.write(rest, (error) => {
      if (blocked && !error) onFlushed();
    });
    if (socket.writableLength === 0) return 'sent';
    blocked = true;
    tallies.backpressure++;
    return 'blocked';
  };

  return {
    send(bytes, onFlushed) {
      // A socket that was destroyed has given its descriptor back, and another one may have it by now.
      if (fd < 0 ? socket.destroyed : inner._handle === null) return 'gone';
      tallies.writes++;
      if (fd < 0) return wait(bytes, onFlushed);
      let taken = 0;
      try {
        taken = writeSync(fd, bytes, 0, bytes.length);
      } catch (error) {
        if (systemCode(error) !== 'EAGAIN') {
          socket.destroy();
          return 'gone';
        }
      }
      return taken === bytes.length ? 'sent' : wait(bytes.subarray(taken), onFlushed);
    },
  };
}
