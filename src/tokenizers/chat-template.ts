import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { z } from 'zod';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

/** Writes a chat as the one text that the model reads. */
export interface ChatTemplate {
  /**
   * The text of `messages`; with `addGenerationPrompt`, followed by the beginning of the assistant's answer. Other
   * options are variables of the template (`enable_thinking`). Throws an InputError when the template is broken, or
   * refuses the messages.
   */
  render(
    messages: readonly ChatMessage[],
    options?: { readonly addGenerationPrompt?: boolean } & Readonly<Record<string, unknown>>,
  ): string;
}

/** A special token is written as its text, or as an object that holds it. */
const token = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
  .catch(null);

const tokenKeys = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const;

const configFile = z.looseObject({
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
  ...(Object.fromEntries(tokenKeys.map((key) => [key, token])) as Record<(typeof tokenKeys)[number], typeof token>),
});

/**
 * The chat template beside a `tokenizer.json`: `chat_template.jinja`, else `chat_template` of `tokenizer_config.json`
 * (of several, the one named `default`). Null where there is none. One that cannot be used is an error only when it is
 * rendered: most studies send no chats.
 */
export async function chatTemplateIn(folder: string): Promise<ChatTemplate | null> {
  const configPath = join(folder, 'tokenizer_config.json');
  const templatePath = join(folder, 'chat_template.jinja');
  try {
    const [config, own] = await Promise.all([textOf(configPath), textOf(templatePath)]);
    const parsed = configFile.safeParse(config === null ? {} : JSON.parse(config));
    if (!parsed.success) return broken(configPath, z.prettifyError(parsed.error));
    const { chat_template: given, ...rest } = parsed.data;
    const tokens = Object.fromEntries(tokenKeys.flatMap((key) => (rest[key] ? [[key, rest[key]]] : [])));

    if (own !== null) return jinja(templatePath, own, tokens);
    if (given === null || given === undefined) return null;
    if (typeof given === 'string') return jinja(configPath, given, tokens);
    const chosen = given.find(({ name }) => name === 'default');
    if (chosen) return jinja(configPath, chosen.template, tokens);
    return broken(configPath, `none of its chat templates is named default: ${given.map((t) => t.name).join(', ')}`);
  } catch (error) {
    return broken(folder, messageOf(error));
  }
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function jinja(place: string, source: string, tokens: Readonly<Record<string, unknown>>): ChatTemplate {
  let template: Template | undefined;
  return {
    render(messages, { addGenerationPrompt = false, ...variables } = {}) {
      try {
        template ??= new Template(source);
        const names = { tools: null, documents: null, ...tokens, ...variables };
        return template.render({ ...names, messages, add_generation_prompt: addGenerationPrompt });
      } catch (error) {
        throw unusable(place, `the chat template cannot be used: ${messageOf(error)}`);
      }
    },
  };
}

const broken = (place: string, message: string): ChatTemplate => ({
  render() {
    throw unusable(place, message);
  },
});

const unusable = (place: string, message: string): InputError =>
  new InputError([
    { place, message, hint: 'send plain prompts, or let the server apply the template (its chat endpoint)' },
  ]);
