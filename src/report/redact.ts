import { homedir, hostname, userInfo } from 'node:os';
import { hidden, hideSecrets, wholeName } from '../kit/secrets.ts';
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
    clean = hideSecrets(clean);
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
