import { describe, expect, it } from 'vitest';
import type { Importer } from '../../src/importers/importer.ts';
import { importedResult } from '../../src/records/imported.ts';

export interface ImporterSample {
  readonly text: string;
  /** Line of each result, from 1. */
  readonly lines: readonly number[];
  /** The text with something in it that cannot be read, and the line that must be named. */
  readonly broken: { readonly text: string; readonly line: number };
}

/** What holds for every importer. */
export function importerContract(importer: Importer, { text, lines, broken }: ImporterSample): void {
  const file = { path: 'dir/sample.txt', name: 'sample.txt', sha256: 'ab'.repeat(32) };
  const read = (content: string) => importer.read(content, file);

  describe(`importer ${importer.name}`, () => {
    it('recognises its own format, and nothing else', () => {
      expect(importer.recognises(text, file.path)).toBe(true);
      for (const other of ['', '{}', '[]', '{"a": 1}', '# A heading\n\nand text\n', 'a,b\n1,2\n']) {
        expect(importer.recognises(other, file.path)).toBe(false);
      }
      expect(importer.description).toMatch(/^\S.*[^.]$/);
    });

    it('reads every result, each with its own place, as the schema has it', () => {
      const results = read(text);
      expect(results.map(({ source }) => source.line)).toEqual(lines);
      for (const result of results) {
        expect(importedResult.parse(JSON.parse(JSON.stringify(result)))).toEqual(result);
        expect(result.source).toMatchObject({ file: file.name, sha256: file.sha256, format: importer.name });
        expect(result.figures.completed).not.toBeNull();
      }
    });

    it('reads the same whatever ends the lines', () => {
      expect(read(text.replaceAll('\n', '\r\n'))).toEqual(read(text));
    });

    it('names the line of what it cannot read', () => {
      const place = expect.stringMatching(new RegExp(`^dir/sample\\.txt:${broken.line}$`));
      expect(() => read(broken.text)).toThrow(
        expect.objectContaining({
          code: 'bad_input',
          problems: expect.arrayContaining([expect.objectContaining({ place, hint: expect.any(String) })]),
        }),
      );
    });

    it('says so when there is nothing to read', () => {
      expect(() => read('nothing here')).toThrow(expect.objectContaining({ code: 'bad_input' }));
    });
  });
}
