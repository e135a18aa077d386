/** Stands in place of a secret. */
export const hidden = '<redacted>';

/**
 * Ends of names whose value is a secret, for keys of objects, flags and `name=value` in text. Repetition is bounded here
 * and below, so that no log can make the search take longer than its length explains.
 */
const secretName =
  '(?:[A-Za-z][\\w.-]{0,60}[_.-])?(?:(?:api|access|secret|private|auth)[_-]?key|apikey|secret|passw(?:or)?d|passphrase|authorization|credentials?' +
  '|(?:hf|hub|api|auth|access|bearer|refresh|session|github|gitlab)[_-]?token|token)';
/** Vocabulary words are called tokens too; their values are public. */
const vocabularyToken = /(?:eos|bos|pad|unk|sep|cls|mask|stop|image|think|special)[_-]?token$/i;
const secretKey = new RegExp(`^-{0,2}${secretName}$`, 'i');

/** Whether the value of a flag, key or variable of this name is a secret. */
export const isSecretName = (name: string): boolean => secretKey.test(name) && !vocabularyToken.test(name);

/** What is a secret by its own looks, wherever it stands. */
const secretLooks: readonly RegExp[] = [
  /\bhf_(?:[A-Za-z0-9]{16,}|(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9]{8,})/g,
  /\bsk-[\w-]{8,}/g,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|nvapi-|xox[abprs]-)[\w-]{8,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\beyJ[\w-]{6,2000}\.[\w-]{6,4000}\.[\w-]*/g,
];
/** Credentials of an address, and those behind the name of a scheme. */
const credentials: readonly RegExp[] = [/(\w:\/\/)([^\s/@'"]+)(?=@)/g, /(\b(?:Bearer|Basic)\s+)([\w.~+/=-]{6,})/gi];
/**
 * `name=value`, `"name": "value"`, `name: ['value`; in front of the value, what is kept. A backslash ends a value, so that
 * a text inside of JSON stays JSON.
 */
const assignedSecret = new RegExp(
  `(?<![\\w.-])(-{0,2}(${secretName})["']?\\s*[=:]\\s*["'([]*(?:(?:Bearer|Basic)\\s+)?)([^\\s"'\\\\,;)\\]}&]+)`,
  'gi',
);
/** `--name value`, `--name 'value of words'`. */
const flaggedSecret = new RegExp(
  `(?<![\\w.-])(--(${secretName})\\s+)(?:'([^'\\n]+)'|"([^"\\\\\\n]+)"|(["']?)([^\\s"'\\\\-][^\\s"'\\\\]*))`,
  'gi',
);
/** No value, or one that is hidden already. */
const nothing = /^(?:none|null|true|false|undefined|\*+|<redacted(?:-\d+)?>)$/i;

/** Whether what stands after a secret's name is a secret: `output_token: 3` and `first token: the` are not. */
const isSecretValue = (name: string, value: string): boolean =>
  !nothing.test(value) &&
  !vocabularyToken.test(name) &&
  !(/token$/i.test(name) && (/^[\d.]{1,9}$/.test(value) || (/^token$/i.test(name) && value.length < 6)));

/** What is written in place of a secret. */
export type Replacement = (secret: string) => string;

/**
 * The text without keys, tokens and credentials: those that a name tells (`--api-key VALUE`, `"password": "VALUE"`), those
 * that their own looks tell, and the `known` ones wherever they stand by themselves.
 */
export function hideSecrets(
  text: string,
  known: readonly string[] = [],
  replacement: Replacement = () => hidden,
): string {
  let clean = text;
  for (const secret of known) {
    if (clean.includes(secret)) clean = clean.replace(wholeName(secret), () => replacement(secret));
  }
  for (const pattern of credentials) {
    clean = clean.replace(pattern, (whole, before: string, secret: string) =>
      nothing.test(secret) ? whole : `${before}${replacement(secret)}`,
    );
  }
  for (const looks of secretLooks) clean = clean.replace(looks, replacement);
  clean = clean.replace(assignedSecret, (whole, before: string, name: string, secret: string) =>
    isSecretValue(name, secret) ? `${before}${replacement(secret)}` : whole,
  );
  return clean.replace(flaggedSecret, (whole, before: string, name: string, ...found: unknown[]) => {
    const [single, double, quote = '', bare] = found as (string | undefined)[];
    const secret = single ?? double ?? bare ?? '';
    const [open, close] = single !== undefined ? ["'", "'"] : double !== undefined ? ['"', '"'] : [quote, ''];
    return isSecretValue(name, secret) ? `${before}${open}${replacement(secret)}${close}` : whole;
  });
}

/**
 * A copy of `value` in which every text went through `hide`, and the value of every secret's name is gone: of a key, and in
 * an argument list all words behind a flag up to the next one.
 */
export function hideDeep<T>(value: T, hide: (text: string) => string, replacement: Replacement = () => hidden): T {
  return copy(value, hide, replacement) as T;
}

function copy(value: unknown, hide: (text: string) => string, replacement: Replacement): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) {
    let behindSecret = false;
    return value.map((item: unknown) => {
      if (typeof item !== 'string') return copy(item, hide, replacement);
      const [, flag, value] = /^(--[\w.-]+)=(.+)$/s.exec(item) ?? [];
      if (flag !== undefined && value !== undefined && isSecretName(flag)) {
        behindSecret = false;
        return nothing.test(value) ? item : `${flag}=${replacement(value)}`;
      }
      if (item.startsWith('-')) behindSecret = isSecretName(item);
      else if (behindSecret) return nothing.test(item) ? item : replacement(item);
      return hide(item);
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      hide(key),
      typeof item === 'string' && isSecretName(key) && !nothing.test(item)
        ? replacement(item)
        : copy(item, hide, replacement),
    ]),
  );
}

/** Shorter values are no secrets that could be told from words. */
const shortestKnown = 6;

/** Secrets that are looked for by their value, wherever they stand: the long ones first, since one may contain another. */
export const knownSecrets = (values: readonly string[]): readonly string[] =>
  [...new Set(values)]
    .filter((value) => value.length >= shortestKnown && !nothing.test(value))
    .sort((a, b) => b.length - a.length);

/** The values of the variables whose names tell that they are secret (HF_TOKEN, OPENAI_API_KEY). */
export const secretsInEnvironment = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  knownSecrets(
    Object.entries(environment).flatMap(([name, value]) => (value !== undefined && isSecretName(name) ? [value] : [])),
  );

/** A pattern that matches `text` itself, and not as a part of a longer name. */
export const wholeName = (text: string): RegExp =>
  new RegExp(`(?<![A-Za-z0-9])${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![A-Za-z0-9])`, 'g');
