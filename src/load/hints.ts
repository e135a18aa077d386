import type { RequestRecord } from '../records/request.ts';

interface Hint {
  readonly applies: (record: RequestRecord) => boolean;
  readonly text: string;
}

const says =
  (pattern: RegExp) =>
  (record: RequestRecord): boolean =>
    pattern.test(record.error ?? '');

const hints: readonly Hint[] = [
  {
    applies: says(/context (length|size|window)|maximum model length|max_model_len|too long|exceeds? the (model|max)/i),
    text: 'prompt and answer do not fit the context: lower the input or output length, or raise the maximum length of the server',
  },
  {
    applies: says(/EMFILE|ENFILE/),
    text: 'this machine ran out of open files for the client: raise "ulimit -n", or lower the concurrency',
  },
  {
    applies: says(/EADDRNOTAVAIL/),
    text: 'this machine ran out of ports for the client: widen net.ipv4.ip_local_port_range, or lower the concurrency',
  },
  {
    applies: says(/ECONNREFUSED/),
    text: 'nothing listens there: the server is not up, has died, or has another address',
  },
  { applies: says(/ENOTFOUND|EAI_AGAIN/), text: 'the name of the server cannot be resolved: check the base URL' },
  {
    applies: says(/SELF_SIGNED|self-signed|certificate|UNABLE_TO_VERIFY/i),
    text: 'the certificate of the server is not trusted: name its authority in NODE_EXTRA_CA_CERTS',
  },
  {
    applies: ({ httpStatus }) => httpStatus === 401 || httpStatus === 403,
    text: 'the server asks for a key: pass it as an Authorization header',
  },
  {
    applies: ({ httpStatus }) => httpStatus === 404 || httpStatus === 405,
    text: 'the server does not have that path or that model: check base URL, endpoint and model name',
  },
  {
    applies: ({ httpStatus }) => httpStatus === 429 || httpStatus === 503,
    text: 'the server turned requests away; nothing was sent again, because that would change the load',
  },
  {
    applies: ({ outcome, outputTokens }) => outcome === 'empty' && outputTokens === 0,
    text: 'answers without a token: the prompt may fill the context, or end-of-sequence comes first (pin the length with ignore_eos)',
  },
];

/** What could mend the failures among some records: each remedy once, the one that would mend most first. */
export function failureHints(records: readonly RequestRecord[]): string[] {
  const failed = records.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'cancelled');
  return hints
    .map(({ applies, text }) => ({ text, count: failed.filter(applies).length }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ text }) => text);
}
