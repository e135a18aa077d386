type Fields = Readonly<Record<string, unknown>>;

/** How a dialect says what the recorded streams say in short: a token, the end. Shapes as the servers' sources have them. */
export interface Dialect {
  /** Files of `fixtures/streams/` with its cases. */
  readonly files: readonly string[];
  /** The event with the token `text`, when those of `before` have been sent. */
  token(text: string, before: readonly string[]): Fields;
  /** The event that says why the answer ends. */
  finish(reason: string, before: readonly string[]): Fields;
  /** What ends it: `[DONE]`, the event of `finish`, or the end of the body. */
  readonly endsAt: 'DONE' | 'finish' | 'close';
  /** The event of `finish` carries a token. */
  readonly finishIsToken?: true;
  /** Of the OpenAI dialects: the fields of a choice, around a `delta` (chat) or flat (completions). */
  choice?(delta: Fields): Fields;
  /** Of the OpenAI dialects: the field that holds a token of the answer. */
  readonly text?: string;
}

function openAi(text: string, choice: (delta: Fields) => Fields): Dialect {
  const chunk = (delta: Fields, finish_reason: string | null): Fields => ({
    object: 'chunk',
    choices: [{ ...choice(delta), finish_reason }],
    usage: null,
  });
  return {
    files: ['cases'],
    token: (token) => chunk({ [text]: token }, null),
    finish: (reason) => chunk({}, reason),
    endsAt: 'DONE',
    choice,
    text,
  };
}

const sglangEvent = (all: readonly string[], finish_reason: Fields | null): Fields => ({
  text: all.join(''),
  output_ids: [],
  meta_info: {
    id: 'a8f3',
    finish_reason,
    prompt_tokens: 5,
    weight_version: 'default',
    completion_tokens: all.length,
    cached_tokens: 0,
  },
});

const llamaEvent = (content: string, tokens_predicted: number): Fields => ({
  index: 0,
  content,
  tokens: [],
  stop: false,
  id_slot: 0,
  tokens_predicted,
  tokens_evaluated: 5,
});

const tritonEvent = (text_output: string): Fields => ({
  context_logits: 0,
  cum_log_probs: 0,
  generation_logits: 0,
  model_name: 'ensemble',
  model_version: '1',
  output_log_probs: 0,
  sequence_end: false,
  sequence_id: 0,
  sequence_start: false,
  text_output,
});

export const dialects: Readonly<Record<string, Dialect>> = {
  'openai-chat': openAi('content', (delta) => ({ index: 0, delta })),
  openai: openAi('text', (delta) => ({ index: 0, ...delta })),
  'openai-embeddings': {
    files: ['openai-embeddings'],
    token: () => ({}),
    finish: () => ({}),
    endsAt: 'close',
  },
  sglang: {
    files: ['native', 'sglang'],
    token: (text, before) => sglangEvent([...before, text], null),
    finish: (type, before) => sglangEvent(before, { type, length: before.length }),
    endsAt: 'DONE',
  },
  'tensorrt-llm': {
    files: ['native', 'tensorrt-llm'],
    token: (text) => tritonEvent(text),
    finish: () => tritonEvent(''),
    endsAt: 'close',
  },
  tgi: {
    files: ['native', 'tgi'],
    token: (text, before) => ({
      index: before.length + 1,
      token: { id: 264, text, logprob: -0.5, special: false },
      generated_text: null,
      details: null,
    }),
    finish: (finish_reason, before) => ({
      index: before.length + 1,
      token: { id: 2, text: '</s>', logprob: -0.1, special: true },
      generated_text: before.join(''),
      details: { finish_reason, generated_tokens: before.length + 1, seed: null, input_length: 5 },
    }),
    endsAt: 'finish',
    finishIsToken: true,
  },
  'llama.cpp': {
    files: ['native', 'llama.cpp'],
    token: (text, before) => llamaEvent(text, before.length + 1),
    finish: (stop_type, before) => ({
      ...llamaEvent('', before.length),
      stop: true,
      model: 'm',
      generation_settings: {},
      prompt: 'x',
      has_new_line: false,
      truncated: false,
      stop_type,
      stopping_word: '',
      tokens_cached: 12,
      timings: { prompt_n: 5, predicted_n: before.length },
    }),
    endsAt: 'finish',
  },
};
