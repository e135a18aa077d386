import type { Endpoint } from './endpoint.ts';
import { type ChoiceReader, type Fields, isText, readOpenAiEvent } from './openai-events.ts';

const reader: ChoiceReader = {
  answer: (choice: Fields) => (isText(choice.text) ? choice.text : ''),
  other: (choice: Fields) => isText(choice.reasoning_content) || isText(choice.reasoning),
};

/** Completions, as `vllm bench serve --backend openai` asks for them: the raw prompt, without a chat template. */
export const openai: Endpoint = {
  name: 'openai',
  path: '/v1/completions',
  body: (spec, options) => ({
    model: options.model,
    prompt: spec.prompt,
    temperature: options.temperature,
    max_tokens: spec.outputTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(options.ignoreEos ? { ignore_eos: true } : {}),
  }),
  read: (event) => readOpenAiEvent(event, reader),
};
