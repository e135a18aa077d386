import { InputError, type Problem } from '../kit/errors.ts';
import { type MersenneTwister, pythonTwister } from '../kit/mersenne-twister.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { ChatMessage } from '../tokenizers/chat-template.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset, Making } from './dataset.ts';
import { doubledSpecials, noTemplate } from './making/chat-text.ts';
import { countTokens } from './making/count-tokens.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { present, repeatNote } from './making/repeats.ts';
import { datasetFile, fileError } from './reading/dataset-file.ts';
import { textLines } from './reading/lines.ts';

/** What every prompt begins with, before the lines. Their number depends on its length, so it is vLLM's to the letter. */
const opening = 'Pick as many lines as you can from these poem lines:\n';

/** Prompts that are drawn and counted together. */
const batch = 64;
/** So many prompts in a row that are too long, and none will ever be short enough. */
const patience = 512;

const asUser = (content: string): readonly ChatMessage[] => [{ role: 'user', content }];

/**
 * Prompts of lines of a poem: the first ones of the file, which all prompts share, then lines drawn with Python's
 * `random.choices`, as many as fit on average; a prompt that comes out too long is drawn anew. The same file, seed and
 * tokenizer give the prompts of `vllm bench serve --dataset-name sonnet`. Lengths hold the chat template, also where the
 * server applies it.
 *
 * Where vLLM goes on for ever (no draw is ever short enough) or sends one prompt over and over (no room for lines of its
 * own), this is an InputError.
 */
export const sonnet: Dataset = {
  name: 'sonnet',
  description: 'lines of a poem from a text file, the first ones the same in every prompt',
  pinsOutput: false,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, sonnet);
    const { signal, onProgress } = making;
    signal.throwIfAborted();
    const lines = await linesOf(options, signal);
    const wrapped = wrapping(options, { ...making, tokenizer });
    const lengths = await countTokens([wrapped(asUser(opening)), ...lines], tokenizer, signal);
    const { shared, own } = lineCounts(options, lengths);

    const generator = pythonTwister(options.seed);
    const start = opening + lines.slice(0, shared).join('');
    const requests: RequestSpec[] = [];
    let refused = 0;
    while (requests.length < count) {
      const length = Math.min(batch, count - requests.length + 8);
      const prompts = Array.from({ length }, () => start + choices(generator, lines, own).join(''));
      const sent = await sentOf(prompts, wrapped, options, making);
      for (const { prompt, promptTokens, wholeTokens } of sent) {
        if (requests.length === count) break;
        if (wholeTokens > options.sonnet_input_len) {
          if (++refused === patience) throw tooLong(options, wholeTokens);
          continue;
        }
        refused = 0;
        requests.push({ index: requests.length, prompt, promptTokens, outputTokens: options.sonnet_output_len });
      }
      onProgress?.(requests.length, count);
    }
    const { serverTemplates } = making;
    const templated = !serverTemplates && !(options.skip_chat_template && options.compat === 'servetune');
    const doubled = templated ? doubledSpecials(tokenizer.specialTokenCount) : null;
    return { requests, notes: present(doubled, repeatNote(requests)) };
  },
};

/** Lines with their line breaks, blank ones too. */
async function linesOf(options: WorkloadOptions, signal: AbortSignal): Promise<string[]> {
  const path = await datasetFile(options, 'lines of a poem');
  const lines: string[] = [];
  for await (const { text, ended } of textLines(path, signal)) lines.push(ended ? `${text}\n` : text);
  if (lines.every((line) => line.trim() === '')) throw fileError(`${path} holds only blank lines`, 'give a poem');
  return lines;
}

/** A text as the model gets it. vLLM's sonnet knows nothing of `--skip-chat-template`. */
function wrapping(
  { skip_chat_template: skip, chat_template_kwargs: variables, compat }: WorkloadOptions,
  { tokenizer, serverTemplates }: Making & { tokenizer: Tokenizer },
): (messages: readonly ChatMessage[]) => string {
  const template = tokenizer.chatTemplate;
  const plain = (messages: readonly ChatMessage[]): string => messages.map(({ content }) => content).join('');
  if (skip && compat === 'servetune') return plain;
  if (template) return (messages) => template.render(messages, { ...variables, addGenerationPrompt: true });
  // The server's template is then a few tokens on top of the length asked for.
  if (serverTemplates) return plain;
  throw noTemplate(tokenizer.name);
}

/** How many lines are shared and how many drawn. `lengths` are those of the opening in the template and of each line. */
function lineCounts(options: WorkloadOptions, lengths: readonly number[]): { shared: number; own: number } {
  const { sonnet_input_len: inputLen, sonnet_prefix_len: prefixLen, compat } = options;
  const [base = 0, ...lines] = lengths;
  const average = lines.reduce((sum, tokens) => sum + tokens, 0) / lines.length;

  const problems: Problem[] = [];
  const place = '--sonnet-input-len';
  if (inputLen <= base) {
    const message = `${inputLen} tokens have no room for a poem: what stands before it has ${base}`;
    problems.push({ place, message, hint: `set it to at least ${base + Math.ceil(average)}` });
  }
  if (inputLen <= prefixLen) {
    const message = `${inputLen} tokens are not more than the ${prefixLen} that all prompts share`;
    problems.push({ place, message, hint: `set it above ${prefixLen}, or --sonnet-prefix-len below ${inputLen}` });
  }
  if (problems.length > 0) throw new InputError(problems);

  const all = roundToEven((inputLen - base) / average);
  const shared = Math.max(roundToEven((prefixLen - base) / average), 0);
  // v0.11 has no lower bound; with it a short prompt is one line too long, and drawn until that line is short enough.
  const own = (compat === 'vllm-0.11.0' || compat === 'vllm-0.11.1' ? all : Math.max(all, 1)) - shared;
  if (own < 1) {
    const message = `${inputLen} tokens leave no room for a line beside the ${prefixLen} that all prompts share`;
    const least = prefixLen + Math.ceil(average);
    throw new InputError([{ place, message, hint: `set it to at least ${least}` }]);
  }
  return { shared, own };
}

/** Python's `random.choices`. */
const choices = (generator: MersenneTwister, lines: readonly string[], count: number): string[] =>
  Array.from({ length: count }, () => lines[Math.floor(generator.random() * lines.length)] as string);

/** Python's `round`: halves go to the even neighbour. */
function roundToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

interface Sent {
  readonly prompt: string;
  readonly promptTokens: number;
  /** With the chat template. */
  readonly wholeTokens: number;
}

/** What is sent: a chat endpoint gets the bare prompt. vLLM counts the template in all the same, so its modes do too. */
async function sentOf(
  prompts: readonly string[],
  wrapped: (messages: readonly ChatMessage[]) => string,
  { compat }: WorkloadOptions,
  { tokenizer, serverTemplates, signal }: Making,
): Promise<Sent[]> {
  const whole = prompts.map((prompt) => wrapped(asUser(prompt)));
  const wholeTokens = await countTokens(whole, tokenizer, signal);
  const bareTokens =
    serverTemplates && compat === 'servetune' ? await countTokens(prompts, tokenizer, signal) : wholeTokens;
  return prompts.map((prompt, i) => ({
    prompt: serverTemplates ? prompt : (whole[i] as string),
    promptTokens: bareTokens[i] as number,
    wholeTokens: wholeTokens[i] as number,
  }));
}

const tooLong = ({ sonnet_input_len: inputLen }: WorkloadOptions, tokens: number): InputError =>
  new InputError([
    {
      place: '--sonnet-input-len',
      message: `${patience} prompts in a row came out longer than ${inputLen} tokens, the last one with ${tokens}`,
      hint: `set it to at least ${tokens}, or give a file with shorter lines`,
    },
  ]);
