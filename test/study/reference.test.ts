import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseStudy } from '../../src/study/read.ts';
import { studyReference } from '../../src/study/reference.ts';

const root = resolve(import.meta.dirname, '../..');

it('the page on the study file says what the schemas say; `npm run docs` writes it anew', () => {
  expect(readFileSync(join(root, 'docs/study-file.md'), 'utf8')).toBe(studyReference());
});

it.each(readdirSync(join(root, 'examples')))('examples/%s passes the schema', (name) => {
  expect(() => parseStudy(readFileSync(join(root, 'examples', name), 'utf8'), name)).not.toThrow();
});
