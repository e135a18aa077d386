import { InputError } from '../../kit/errors.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import type { ChatMessage } from '../../tokenizers/chat-template.ts';
import type { Making } from '../dataset.ts';
import { present } from './repeats.ts';

/** Turns the messages of a row into the text that is sent. */
export interface ChatText {
  /** Whether texts are in the chat template, with the beginning of the assistant's answer behind them. */
  readonly templated: boolean;
  textOf(messages: readonly ChatMessage[]): string;
  readonly notes: readonly string[];
}

/** Messages without a template: what they say, a blank line between two. */
const plainText = (messages: readonly ChatMessage[]): string => messages.map(({ content }) => content).join('\n\n');

/**
 * Whether and how a dataset with texts of its own writes them into the model's chat template: for a completions endpoint
 * only, unless `skip_chat_template`. vLLM does it for a chat endpoint too, where the server applies the template once
 * more; its compat modes do the same and say so.
 *
 * Throws an InputError where the template is wanted and there is none.
 */
export function chatText(
  { skip_chat_template: skip, chat_template_kwargs: variables, compat }: WorkloadOptions,
  { tokenizer, serverTemplates }: Pick<Making, 'tokenizer' | 'serverTemplates'>,
): ChatText {
  const plain = (...notes: string[]): ChatText => ({ templated: false, textOf: plainText, notes });
  if (skip) return plain();
  if (!tokenizer) {
    return serverTemplates
      ? plain()
      : plain('The prompts are without the chat template of the model, which is not known without a tokenizer.');
  }
  if (serverTemplates && compat === 'servetune') {
    return plain(
      'The prompts are without the chat template, which the server applies itself; `vllm bench serve` applies it to ' +
        'them twice.',
    );
  }

  const { chatTemplate, specialTokenCount, name } = tokenizer;
  if (!chatTemplate) throw noTemplate(name);
  const notes: string[] = [];
  if (serverTemplates) {
    notes.push('The chat template is in the prompts and the server applies it once more, as with `vllm bench serve`.');
  } else notes.push(...present(doubledSpecials(specialTokenCount)));
  return {
    templated: true,
    notes,
    textOf: (messages) => chatTemplate.render(messages, { ...variables, addGenerationPrompt: true }),
  };
}

/** What to say of prompts in the chat template where a completions endpoint puts special tokens in front of any prompt. */
export const doubledSpecials = (specialTokenCount: number): string | null =>
  specialTokenCount === 0
    ? null
    : `Prompts hold the special tokens of the chat template, and the server adds ${specialTokenCount} in front, unless ` +
      'the request body says "add_special_tokens": false.';

export const noTemplate = (tokenizer: string): InputError =>
  new InputError([
    {
      place: '--tokenizer',
      message: `${tokenizer} has no chat template to write prompts in`,
      hint: 'send them as they are with --skip-chat-template, or use a chat endpoint',
    },
  ]);
