import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

const root = join(import.meta.dirname, '..');

/** Threads and other processes run what was compiled: a stale build of these files (below `src/`) would prove nothing. */
export function expectFreshBuild(folder: string, ...names: readonly string[]): void {
  for (const name of names) {
    const built = statSync(join(root, 'dist', folder, `${name}.js`)).mtimeMs;
    const written = statSync(join(root, 'src', folder, `${name}.ts`)).mtimeMs;
    expect(built, `dist/${folder}/${name}.js is stale; run: npm run build`).toBeGreaterThan(written);
  }
}
