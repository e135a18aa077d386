// Writes the pages that are generated from schemas; `npm run docs` builds first. A test compares them.
import { writeFileSync } from 'node:fs';
import { studyReference } from '../../dist/study/reference.js';

writeFileSync(new URL('../../docs/study-file.md', import.meta.url), studyReference());
