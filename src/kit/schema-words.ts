/** Words for the signs in a schema's complaint. */
const words: Readonly<Record<string, string>> = {
  '<': 'less than',
  '<=': 'at most',
  '>': 'more than',
  '>=': 'at least',
};

/** Words for a schema's kinds of value. */
const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
};

/**
 * A schema's complaint in plain words: `Too big: expected number to be <1` is `must be less than 1`, and
 * `Invalid option: expected one of "a"|"b"` is `expected one of "a"|"b"`.
 */
export function inWords(message: string): string {
  const type = /^Invalid input: expected (\w+), received (\w+)$/.exec(message);
  if (type) return `must be ${kinds[type[1] as string] ?? type[1]}, not ${kinds[type[2] as string] ?? type[2]}`;
  const bound = /^Too (?:big|small): expected .* (<=?|>=?)(\S+?)( characters| items)?$/.exec(message);
  if (!bound) return message.replace(/^Invalid (input|option): /, '');
  const [, sign = '', limit, of = ''] = bound;
  if (of !== '' && sign === '>=' && limit === '1') return 'must not be empty';
  return of === '' ? `must be ${words[sign]} ${limit}` : `must have ${words[sign]} ${limit}${of}`;
}
