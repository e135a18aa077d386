import type { Supervised } from '../processes/supervisor.ts';

/** Stands in for the process of a server that is not ours: it never ends as far as we know, and we do not end it. */
export function attached(): Supervised {
  const stopped = { exit: { code: null, signal: null }, forced: false, survivors: [], durationS: 0 };
  return {
    pid: 0,
    startTime: '',
    exited: new Promise(() => {}),
    logTail: () => [],
    stop: async () => stopped,
    [Symbol.asyncDispose]: async () => {},
  };
}
