import { homedir, hostname, userInfo } from 'node:os';
import { outcomes } from '../records/request.ts';
import { settingNames } from '../records/settings.ts';
import { objectiveMetrics } from '../records/study.ts';
import { fates, purposes } from '../records/trial.ts';

/** Whose machine it is: what must not stand in a report. */
export interface Identity {
  readonly home: string;
  readonly user: string;
  readonly host: string;
}

/** The identity of this process's user; a user without an entry in the password file has no name. */
export function currentIdentity(): Identity {
  let user = '';
  try {
    user = userInfo().username;
  } catch {
    // Containers run under numbers that no name belongs to.
  }
  return { home: homedir(), user, host: hostname() };
}

const hidden = '<redacted>';

/** Names too common to tell whose the machine is; replacing them would garble commands and logs. */
const commonNames = new Set(
  (
    'root user users admin administrator ubuntu debian fedora centos ec2-user runner docker nobody test home guest host localhost ' +
    'vllm sglang tensorrt-llm trtllm llama server model models node python servetune embedded baseline default'
  ).split(' '),
);

/** Words of our own closed lists: equal to a user's name only by accident, and meaningless once replaced. */
const ownWords = new Set<string>([
  ...fates,
  ...purposes,
  ...outcomes,
  ...objectiveMetrics,
  ...Object.keys(settingNames),
]);

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
const isSecretKey = (name: string): boolean => secretKey.test(name) && !vocabularyToken.test(name);

/** What is a secret by its own looks, wherever it stands. */
const secretLooks: readonly RegExp[] = [
  /\bhf_(?:[A-Za-z0-9]{16,}|(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9]{8,})/g,
  /\bsk-[\w-]{8,}/g,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|nvapi-|xox[abprs]-)[\w-]{8,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\beyJ[\w-]{6,2000}\.[\w-]{6,4000}\.[\w-]*/g,
];
/** `name=value`, `"name": "value"`, `name: ['value`; in front of the value, what is kept. */
const assignedSecret = new RegExp(
  `(?<![\\w.-])(-{0,2}(${secretName})["']?\\s*[=:]\\s*["'([]*(?:(?:Bearer|Basic)\\s+)?)([^\\s"',;)\\]}&]+)`,
  'gi',
);
/** `--name value`. */
const flaggedSecret = new RegExp(`(?<![\\w.-])(--(${secretName})\\s+["']?)([^\\s"'-][^\\s"']*)`, 'gi');
const nothing = /^(?:none|null|true|false|undefined|\*+|<redacted>)$/i;

/** Whether what stands after a secret's name is a secret: `output_token: 3` and `first token: the` are not. */
const isSecretValue = (name: string, value: string): boolean =>
  !nothing.test(value) &&
  !vocabularyToken.test(name) &&
  !(/token$/i.test(name) && (/^[\d.]{1,9}$/.test(value) || (/^token$/i.test(name) && value.length < 6)));

/** A pattern that matches `text` itself, and not as a part of a longer name. */
const wholeName = (text: string): RegExp =>
  new RegExp(`(?<![A-Za-z0-9])${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![A-Za-z0-9])`, 'g');

/**
 * Makes a function that removes from a text what must not be handed on: keys and tokens, credentials in addresses,
 * e-mail addresses, GPU serials, home folders (`~`), the user's and the machine's name. Terminal colours and control
 * characters go too: the text may be a log, and ends in a document.
 */
export function textRedactor(identity: Identity): (text: string) => string {
  const replacements: [RegExp, string][] = [];
  if (identity.home.length > 1) {
    replacements.push([
      new RegExp(`${wholeName(identity.home).source.replace('(?<![A-Za-z0-9])', '')}(?![\\w-])`, 'g'),
      '~',
    ]);
  }
  replacements.push([/\/(?:home|Users)\/[^/\s'"`:,;()<>[\]{}|]+/g, '~'], [/(?<![\w.-])\/root(?![\w.-])/g, '~']);
  replacements.push([/[A-Za-z]:\\Users\\[^\\\s'"]+/g, '~']);
  for (const name of new Set([identity.host, identity.host.split('.')[0] ?? ''])) {
    if (name.length >= 3 && !commonNames.has(name.toLowerCase())) replacements.push([wholeName(name), '<host>']);
  }
  if (identity.user.length >= 3 && !commonNames.has(identity.user.toLowerCase())) {
    replacements.push([wholeName(identity.user), '<user>']);
  }

  return (text) => {
    if (ownWords.has(text)) return text;
    let clean = withoutControls(text);
    clean = clean.replace(/(\w:\/\/)[^\s/@'"]+@/g, `$1${hidden}@`);
    clean = clean.replace(/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${hidden}`);
    for (const looks of secretLooks) clean = clean.replace(looks, hidden);
    for (const pattern of [assignedSecret, flaggedSecret]) {
      clean = clean.replace(pattern, (whole, before: string, name: string, value: string) =>
        isSecretValue(name, value) ? `${before}${hidden}` : whole,
      );
    }
    clean = clean.replace(/(?<![\w.+-])[\w.+-]+@[A-Za-z][\w-]*(?:\.[\w-]+){0,8}\.[A-Za-z]{2,}\b/g, hidden);
    clean = clean.replace(/\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, `$1-${hidden}`);
    for (const [pattern, by] of replacements) clean = clean.replace(pattern, by);
    return clean;
  };
}

/** Escape sequences, and characters that show as nothing or turn the direction of the text around them. */
function withoutControls(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
      .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g, '')
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
  );
}

/** A copy of `value` in which every text went through `redact`, and the value of every secret's name is gone. */
export function redactDeep<T>(value: T, redact: (text: string) => string): T {
  return copy(value, redact) as T;
}

function copy(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) {
    // `--api-key`, `VALUE` in an argument list: the name and its value are two entries.
    return value.map((item, i) => {
      const before: unknown = value[i - 1];
      const secret = typeof before === 'string' && before.startsWith('--') && isSecretKey(before);
      return secret && typeof item === 'string' && !item.startsWith('--') ? hidden : copy(item, redact);
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      redact(key),
      typeof item === 'string' && isSecretKey(key) && !nothing.test(item) ? hidden : copy(item, redact),
    ]),
  );
}
