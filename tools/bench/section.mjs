// One section of a page that is written by hand otherwise.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const begin = (name) => `<!-- ${name}: measured by tools/bench, do not edit -->`;
const end = (name) => `<!-- end of ${name} -->`;

/** Replaces what stands between the two comments of `name` in a Markdown file; adds them at its end if it has none. */
export function writeSection(file, name, text) {
  const page = existsSync(file) ? readFileSync(file, 'utf8') : `# ${basename(file, '.md')}\n`;
  const section = `${begin(name)}\n\n${text.trim()}\n\n${end(name)}`;
  const from = page.indexOf(begin(name));
  const to = page.indexOf(end(name));
  if (from >= 0 !== to >= 0 || to < from) throw new Error(`${file}: the comments around "${name}" are damaged`);
  writeFileSync(
    file,
    from < 0
      ? `${page.trimEnd()}\n\n${section}\n`
      : `${page.slice(0, from)}${section}${page.slice(to + end(name).length)}`,
  );
}
