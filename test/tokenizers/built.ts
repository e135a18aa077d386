import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** Threads and other processes run what was compiled: a stale build would prove nothing. */
export function expectFreshBuild(): void {
  const root = join(import.meta.dirname, '../..');
  for (const name of [
    'worker',
    'source',
    'byte-level',
    'byte-tables',
    'pair-merge',
    'library',
    'packing',
    'portable',
    'native',
  ]) {
    const built = statSync(join(root, 'dist/tokenizers', `${name}.js`)).mtimeMs;
    expect(built, `dist/tokenizers/${name}.js is stale; run: npm run build`).toBeGreaterThan(
      statSync(join(root, 'src/tokenizers', `${name}.ts`)).mtimeMs,
    );
  }
}
