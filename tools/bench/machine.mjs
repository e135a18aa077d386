// The machine on which it is measured.
import { cpus, loadavg, release, type } from 'node:os';

/** Above this much work of others, in cores, figures of this machine are not to be published. */
export const quietCores = 0.3;
/** Stands with the figures then, so that nobody takes them for more than they are. */
export const notQuiet = '**The machine was not quiet: these figures show that it works, and no more.**';

/** What a reader must know of the machine. */
export const machineFacts = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  node: process.version,
  os: `${type()} ${release()}`,
});

/** Load average of the last minute. */
export const load = () => loadavg()[0];

/** CPU time of everything on this machine since it started, seconds. */
export const busyS = () =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
