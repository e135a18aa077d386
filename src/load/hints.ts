import type { RecordList, RequestRecord } from '../records/request.ts';

interface Hint {
  readonly applies: (record: RequestRecord) => boolean;
  readonly text: string;
}

const says =
  (pattern: RegExp) =>
  (record: RequestRecord): boolean =>
    pattern.test(record.error ?? '');

const answered =
  (...statuses: readonly number[]) =>
  ({ httpStatus }: RequestRecord): boolean =>
    httpStatus !== undefined && statuses.includes(httpStatus);

/** Words of vLLM, SGLang, llama.cpp; of TGI (`inputs` tokens + `max_new_tokens`); of TensorRT-LLM (max input length). */
const tooLong =
  /context (length|size|window)|maximum model length|max_model_len|too long|exceeds? the (model|max|context)|`?max_new_tokens`? must be|must have less than \d+ tokens|max(imum)? (input|sequence) length|max_(input|seq|num)_(len|tokens)/i;

const hints: readonly Hint[] = [
  {
    applies: says(tooLong),
    text: 'prompt and answer do not fit the context: lower the input or output length, or raise the maximum length of the server',
  },
  {
    applies: says(/out of memory|OutOfMemory|cudaMalloc|failed to allocate/i),
    text: 'the engine ran out of memory under this load: lower its share of memory, its batch or the concurrency; its log says more',
  },
  {
    applies: says(/model produced output that does not match the expected/i),
    text: 'llama-server ends an answer that is not valid UTF-8 this way; a model of random weights often gives such answers',
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
  {
    applies: says(/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/),
    text: 'the server cannot be reached: check the address, the firewall and the route to it',
  },
  { applies: says(/ENOTFOUND|EAI_AGAIN/), text: 'the name of the server cannot be resolved: check the base URL' },
  {
    applies: says(/SELF_SIGNED|self-signed|certificate|UNABLE_TO_VERIFY/i),
    text: 'the certificate of the server is not trusted: name its authority in NODE_EXTRA_CA_CERTS',
  },
  {
    applies: answered(401, 403),
    text: 'the server asks for a key: pass it as an Authorization header',
  },
  {
    applies: answered(404, 405),
    text: 'the server does not have that path or that model: check base URL, endpoint, backend and model name',
  },
  {
    applies: answered(413),
    text: 'something on the way refuses bodies of that size: raise its limit, or shorten the prompts',
  },
  {
    applies: says(/ignore_eos/),
    text: 'the server does not know ignore_eos: leave it out with --no-ignore-eos, and pin the length as it does with --extra-body',
  },
  {
    applies: says(/stream_options|include_usage/),
    text: 'the server does not know stream_options: --extra-body \'{"stream_options": null}\' takes it back, and tokens are counted on this side',
  },
  {
    applies: (record) => answered(400, 422)(record) && !tooLong.test(record.error ?? ''),
    text: 'the server refuses the request itself: check that the backend is its dialect, and leave out what it names',
  },
  {
    applies: says(/chat template/i),
    text: 'the model has no chat template: use the backend openai, which sends the bare prompt, or give the server a template',
  },
  {
    applies: answered(429, 503),
    text: 'the server turned requests away; nothing was sent again, because that would change the load',
  },
  {
    applies: ({ outcome, httpStatus, error = '' }) =>
      outcome === 'truncated' && httpStatus === 200 && !/neither a stream|begins with/.test(error),
    text: 'answers broke off: the engine or a proxy before it closed them; look at its log and at the time-outs on the way',
  },
  {
    applies: says(/neither a stream of events nor JSON|; it begins with|the answer holds no (completion|embedding)/),
    text: 'what answers there is no server of that dialect: check base URL, endpoint and backend',
  },
  {
    applies: ({ outcome }) => outcome === 'timeout',
    text: 'answers took longer than they may: raise the time-out of a request, or lower the concurrency or the output length',
  },
  {
    applies: ({ outcome, outputTokens }) => outcome === 'empty' && outputTokens === 0,
    text: 'answers without a token: the prompt may fill the context, or end-of-sequence comes first (pin the length with ignore_eos)',
  },
];

/** What could mend the failures among some records: each remedy once, the one that would mend most first. */
export function failureHints(records: RecordList): readonly string[] {
  const counts = hints.map(({ applies, text }) => ({ applies, text, count: 0 }));
  for (const record of records) {
    if (record.outcome === 'ok' || record.outcome === 'cancelled') continue;
    for (const hint of counts) if (hint.applies(record)) hint.count++;
  }
  return counts
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ text }) => text);
}
