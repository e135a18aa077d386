import type { Endpoint } from './endpoint.ts';
import { type Fields, isFields, isText } from './fields.ts';
import { type ChoiceReader, openAiReader } from './openai-events.ts';
import { given, vllmTemperature } from './sampling.ts';

/** A streamed choice has `delta`; that of an answer in one piece has `message`, with the same fields. */
function answer(choice: Fields): string {
  const delta = choice.delta ?? choice.message;
  if (!isFields(delta)) return '';
  const { content, refusal } = delta;
  if (typeof content === 'string' && content !== '') return content;
  if (Array.isArray(content)) return content.map(partText).join('');
  return isText(refusal) ? refusal : '';
}

const partText = (part: unknown): string => (isFields(part) && isText(part.text) ? part.text : '');

function other(choice: Fields): string {
  const delta = choice.delta ?? choice.message;
  if (!isFields(delta)) return '';
  const { reasoning_content, reasoning, reasoning_details, tool_calls, function_call } = delta;
  let text = isText(reasoning_content) ? reasoning_content : isText(reasoning) ? reasoning : '';
  // Servers that send details repeat them as plain text.
  if (text === '' && Array.isArray(reasoning_details)) text = reasoning_details.map(detailText).join('');
  if (Array.isArray(tool_calls)) text += tool_calls.map((call) => (isFields(call) ? argumentsOf(call.function) : '')).join(''); // biome-ignore format: one line a channel
  return text + argumentsOf(function_call);
}

const detailText = (detail: unknown): string =>
  isFields(detail) ? (isText(detail.text) ? detail.text : isText(detail.summary) ? detail.summary : '') : '';

const argumentsOf = (call: unknown): string => (isFields(call) && isText(call.arguments) ? call.arguments : '');

const reader: ChoiceReader = { answer, other };

/**
 * Chat completions, as `vllm bench serve --backend openai-chat` asks for them. Two choices where servers differ:
 * the prompt is a plain string, which all of them take (the content parts that vLLM's own client sends are refused by some
 * templates); and the length is `max_completion_tokens` alone, as vLLM's client sends it: vLLM, SGLang, TensorRT-LLM and
 * llama.cpp know it, some servers refuse it together with the older `max_tokens`, and one that ignores it shows in the
 * achieved lengths. vLLM's client sends no log probabilities for chats, whatever it is asked for.
 */
export const openaiChat: Endpoint = {
  name: 'openai-chat',
  path: '/v1/chat/completions',
  generates: true,
  endsWith: 'event',
  templates: true,
  body(spec, { model, sampling, ignoreEos, logprobs, compat }) {
    const { prompt, outputTokens: max_completion_tokens } = spec;
    const stream = {
      stream: true,
      stream_options: { include_usage: true },
      ...(ignoreEos ? { ignore_eos: true } : {}),
    };
    if (compat === 'servetune') {
      const messages = [{ role: 'user', content: prompt }];
      const probabilities = logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs };
      return { model, messages, ...given(sampling), max_completion_tokens, ...probabilities, ...stream };
    }
    const messages = [{ role: 'user', content: [{ type: 'text', text: prompt }] }];
    return { model, messages, ...vllmTemperature(compat), max_completion_tokens, ...stream, ...given(sampling) };
  },
  reader: () => openAiReader(reader),
};
