/** Words that a shell reads as grammar when they stand first and bare. */
const reserved = new Set(
  '! case coproc do done elif else esac fi for function if in select then time until while { } [['.split(' '),
);

/**
 * One argument as a POSIX shell must see it to pass it on unchanged: bare where every character is harmless, otherwise
 * in single quotes, where nothing but the quote itself is special.
 */
export function shellQuote(argument: string): string {
  // A leading = is expanded by zsh; letters outside ASCII are left to the quotes, whatever the locale.
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/**
 * A command line that can be pasted into any POSIX shell: every argument arrives as it stands in `argv`. The first word
 * is quoted also where it would be taken for an assignment or for a keyword.
 */
export function shellCommand(argv: readonly string[]): string {
  return argv
    .map((argument, i) =>
      i === 0 && (argument.includes('=') || reserved.has(argument))
        ? `'${argument.replaceAll("'", "'\\''")}'`
        : shellQuote(argument),
    )
    .join(' ');
}

/**
 * The words of a line as a POSIX shell splits it: spaces separate, quotes and backslashes hold together and vanish.
 * Nothing is expanded, so `$HOME` and `*` stay as they are. Null when a quote is not closed or the line ends with a
 * backslash.
 */
export function shellWords(line: string): readonly string[] | null {
  const words: string[] = [];
  let rest = line.trimStart();
  while (rest !== '') {
    const [word = ''] = /^(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/s.exec(rest) ?? [];
    if (word === '') return null;
    words.push(unquoted(word));
    rest = rest.slice(word.length);
    if (rest !== '' && !/^\s/.test(rest)) return null;
    rest = rest.trimStart();
  }
  return words;
}

/** In double quotes a backslash only escapes what would be special there; before a line break both vanish. */
const unquoted = (word: string): string =>
  word.replace(/\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/gs, (_, escaped?: string, single?: string, double?: string) => {
    if (escaped !== undefined) return escaped === '\n' ? '' : escaped;
    return single ?? (double ?? '').replace(/\\(["\\$`\n])/g, (__, char: string) => (char === '\n' ? '' : char));
  });
