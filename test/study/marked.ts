import { readdirSync, readFileSync } from 'node:fs';

/** Processes that have `mark` in the environment that they were started in. */
export const processesMarked = (mark: string): readonly string[] =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });

/** Waits until no process has the mark any more; fails with those that are left. */
export async function untilNoneMarked(mark: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const left = processesMarked(mark);
    if (left.length === 0) return;
    if (performance.now() > deadline) throw new Error(`still running: ${left.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
