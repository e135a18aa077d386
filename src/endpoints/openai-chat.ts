import type { Endpoint } from './endpoint.ts';
import { type ChoiceReader, type Fields, isFields, isText, readOpenAiEvent } from './openai-events.ts';

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

function other(choice: Fields): boolean {
  const delta = choice.delta ?? choice.message;
  if (!isFields(delta)) return false;
  if (isText(delta.reasoning_content) || isText(delta.reasoning)) return true;
  const { reasoning_details, tool_calls, function_call } = delta;
  if (
    Array.isArray(reasoning_details) &&
    reasoning_details.some((d) => isFields(d) && (isText(d.text) || isText(d.summary)))
  )
    return true;
  if (Array.isArray(tool_calls) && tool_calls.some((call) => isFields(call) && hasArguments(call.function)))
    return true;
  return hasArguments(function_call);
}

const hasArguments = (call: unknown): boolean => isFields(call) && isText(call.arguments);

const reader: ChoiceReader = { answer, other };

/**
 * Chat completions, as `vllm bench serve --backend openai-chat` asks for them. Two choices where servers differ:
 * the prompt is a plain string, which all of them take (content parts are refused by some templates); and the length is
 * `max_completion_tokens` alone, as vLLM's client sends it: vLLM, SGLang, TensorRT-LLM and llama.cpp know it, some
 * servers refuse it together with the older `max_tokens`, and one that ignores it shows in the achieved lengths.
 */
export const openaiChat: Endpoint = {
  name: 'openai-chat',
  path: '/v1/chat/completions',
  body: (spec, options) => ({
    model: options.model,
    messages: [{ role: 'user', content: spec.prompt }],
    temperature: options.temperature,
    max_completion_tokens: spec.outputTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(options.ignoreEos ? { ignore_eos: true } : {}),
  }),
  read: (event) => readOpenAiEvent(event, reader),
};
