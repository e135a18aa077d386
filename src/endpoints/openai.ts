import type { Endpoint } from './endpoint.ts';
import { isText } from './fields.ts';
import { type ChoiceReader, openAiReader } from './openai-events.ts';
import { given, vllmTemperature } from './sampling.ts';

const reader: ChoiceReader = {
  answer: ({ text }) => (isText(text) ? text : ''),
  other: ({ reasoning_content, reasoning }) =>
    isText(reasoning_content) ? reasoning_content : isText(reasoning) ? reasoning : '',
};

/**
 * Completions, as `vllm bench serve --backend openai` asks for them: the raw prompt, without a chat template. The bodies
 * of vLLM's releases have the fields that its client always sends, `logprobs` also when it is null.
 */
export const openai: Endpoint = {
  name: 'openai',
  path: '/v1/completions',
  generates: true,
  endsWith: 'event',
  templates: false,
  body(spec, { model, sampling, ignoreEos, logprobs, compat }) {
    const stream = {
      stream: true,
      stream_options: { include_usage: true },
      ...(ignoreEos ? { ignore_eos: true } : {}),
    };
    const { prompt, outputTokens: max_tokens } = spec;
    if (compat === 'servetune') {
      const probabilities = logprobs === undefined ? {} : { logprobs };
      return { model, prompt, ...given(sampling), max_tokens, ...probabilities, ...stream };
    }
    return {
      model,
      prompt,
      ...vllmTemperature(compat),
      repetition_penalty: 1,
      max_tokens,
      logprobs: logprobs ?? null,
      ...stream,
      ...given(sampling),
    };
  },
  reader: () => openAiReader(reader),
};
