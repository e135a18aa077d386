import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { importFile } from '../../src/importers/import-file.ts';
import type { JudgedImport } from '../../src/records/imported.ts';
import { isRun, openImports, openStore } from '../../src/store/store.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures');
const results: readonly JudgedImport[] = importFile(resolve(fixtures, 'importers/qwen3-14b-h100.ja.txt'), 'auto').map(
  (result, i) => ({ ...result, problems: i === 3 ? ['It is wrong.'] : [] }),
);
const begun = { servetuneVersion: '0.1.0', beganAt: '2026-01-01T00:00:00.000Z' };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-imports-'));
});

describe('imported results', () => {
  it('are given back as they were put in, in their order, also after the store was closed', () => {
    {
      using store = openImports(join(dir, 'made', 'imported'), begun);
      expect(store.addImports(results.slice(0, 2))).toEqual([true, true]);
      expect(store.addImports(results.slice(2))).toEqual(results.slice(2).map(() => true));
    }
    using store = openStore(join(dir, 'made', 'imported'), { readonly: true });
    expect(store.imports()).toEqual(results);
  });

  it('are not doubled when the same file is imported again, whatever it is called', () => {
    using store = openImports(dir, begun);
    store.addImports(results.slice(0, 2));
    const renamed = results.slice(0, 3).map((r) => ({ ...r, source: { ...r.source, file: 'copy.txt' } }));
    expect(store.addImports(renamed)).toEqual([false, false, true]);
    expect(store.imports().map(({ source }) => source.line)).toEqual(results.slice(0, 3).map((r) => r.source.line));
    const [first] = results as [JudgedImport];
    const sameLine = { ...first, source: { ...first.source, column: 2 } };
    const otherFile = { ...first, source: { ...first.source, sha256: 'ff' } };
    expect(store.addImports([sameLine, otherFile])).toEqual([true, true]);
  });

  it('make a run without a study, which says so to whoever wants one', () => {
    using store = openImports(dir, begun);
    store.addImports(results);
    expect(isRun(dir)).toBe(true);
    expect(store.finished()).toEqual([]);
    for (const ask of [() => store.start(), () => store.runData()]) {
      expect(ask).toThrow(/holds nothing but imported results, and no study/);
    }
    using again = openImports(dir, begun);
    expect(again.imports()).toEqual(results);
  });

  it('do not go where something else is', () => {
    writeFileSync(join(dir, 'notes.txt'), 'x');
    expect(() => openImports(dir, begun)).toThrow(/is there, and is no run/);
    expect(() => openImports(join(dir, 'notes.txt'), begun)).toThrow(/is there, and is no run/);
  });
});

describe('a run that an older version wrote', () => {
  beforeEach(() => {
    copyFileSync(resolve(fixtures, 'store/run-schema-1/run.db'), join(dir, 'run.db'));
    chmodSync(join(dir, 'run.db'), 0o644);
  });

  it('is read as it is, without imports', () => {
    using store = openStore(dir, { readonly: true });
    expect(store.imports()).toEqual([]);
    expect(store.finished()).toMatchObject([{ id: 1, fate: 'crashed_under_load' }]);
    expect(store.start().study.name).toBe('old');
  });

  it('takes imports beside its trials', () => {
    {
      using store = openImports(dir, begun);
      expect(store.addImports(results)).not.toContain(false);
    }
    using store = openStore(dir, { readonly: true });
    expect(store.imports()).toEqual(results);
    expect(store.finished()).toHaveLength(1);
    expect(store.runData().endedAt).toBe('2026-01-01T01:00:00.000Z');
  });
});
