import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the stand-in says of its one H100; fields as on a real card, with driver 580.159.04. */
interface Card {
  readonly usedMiB?: number;
  readonly persistence?: 'Enabled' | 'Disabled';
  /** Pid of a process that holds its memory. */
  readonly holder?: number;
  /** It answers nothing but this. */
  readonly broken?: string;
}

const uuid = 'GPU-00000000-0000-0000-0000-000000000001';

/**
 * Puts a program `nvidia-smi` into a folder that answers queries as the real one does: cells in the order asked for, and
 * exit code 2 for a field that does not exist.
 */
export function standIn(folder: string, { usedMiB = 0, persistence = 'Enabled', holder, broken }: Card): void {
  const gpu = {
    index: '0', count: '1', name: 'NVIDIA H100 80GB HBM3', uuid, driver_version: '580.159.04', compute_cap: '9.0',
    'memory.total': '81559 MiB', 'memory.used': `${usedMiB} MiB`, 'power.limit': '700.00 W', persistence_mode: persistence,
    compute_mode: 'Default', 'utilization.gpu': '0 %', 'power.draw': '81.95 W', 'clocks.current.sm': '375 MHz',
    'temperature.gpu': '39', 'clocks_event_reasons.active': '0x0000000000000001',
  }; // biome-ignore format: one card
  const app =
    holder === undefined
      ? null
      : { gpu_uuid: uuid, pid: String(holder), process_name: 'python3', used_memory: `${usedMiB} MiB` };
  writeFileSync(
    join(folder, 'nvidia-smi'),
    `#!/usr/bin/env node
const [gpu, app, broken] = ${JSON.stringify([gpu, app, broken ?? null])};
if (broken !== null) {
  process.stdout.write(broken + '\\n');
  process.exit(18);
}
const option = (name) => process.argv.find((word) => word.startsWith(name + '='))?.slice(name.length + 1);
const row = option('--query-gpu') === undefined ? app : gpu;
const fields = (option('--query-gpu') ?? option('--query-compute-apps') ?? '').split(',');
const wrong = row && fields.find((field) => !(field in row));
if (wrong) {
  process.stdout.write('Field "' + wrong + '" is not a valid field to query.\\n');
  process.exit(2);
}
const bare = (cell) => (option('--format')?.includes('nounits') ? cell.replace(/ (MiB|MHz|W|%)$/, '') : cell);
if (row) process.stdout.write(fields.map((field) => bare(row[field])).join(', ') + '\\n');
`,
  );
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
}
