import { InputError, type Problem } from '../../kit/errors.ts';
import { type PacedOptions, pacedOptions } from './options.ts';

/**
 * The options in `--key value` pairs, keys as in `pacedOptions`. Throws an InputError that names everything that is
 * wrong at once.
 */
export function pacedArguments(args: readonly string[]): PacedOptions {
  const problems: Problem[] = [];
  const given: Record<string, unknown> = {};
  for (let i = 0; i < args.length; i += 2) {
    const [flag = '', value] = args.slice(i, i + 2);
    const key = flag.replace(/^--/, '');
    if (!flag.startsWith('--') || !Object.hasOwn(pacedOptions.shape, key)) {
      problems.push({ place: flag, message: 'there is no such option', hint: `one of ${flagNames}` });
    } else if (value === undefined) {
      problems.push({ place: flag, message: 'has no value', hint: `${flag} VALUE` });
    } else {
      given[key] = readValue(key as keyof PacedOptions, value);
    }
  }
  const parsed = pacedOptions.safeParse(given);
  for (const issue of parsed.error?.issues ?? []) {
    problems.push({ place: `--${issue.path.join('.')}`, message: issue.message });
  }
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new InputError(problems);
}

const flagNames = Object.keys(pacedOptions.shape)
  .map((key) => `--${key}`)
  .join(', ');

/** As the schema has it, where the text can be read so; else the text, for the schema to complain about. */
function readValue(key: keyof PacedOptions, text: string): unknown {
  const { type } = pacedOptions.shape[key].unwrap();
  if (type === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
