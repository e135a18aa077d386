import { Refusal } from '../../serving/refusal.ts';
import type { TokenSource } from '../../serving/source.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';

/** What a simulated engine makes of texts. */
export type Prompts = Pick<TokenSource, 'tokenize' | 'detokenize' | 'chatPrompt'> & {
  /** Whether tokens are those of a vocabulary, or guessed. */
  readonly counted: boolean;
};

/** By a tokenizer; chats by the model's own template where it has one. */
export function countedPrompts(tokenizer: Tokenizer): Prompts {
  const encode = async (text: string): Promise<Uint32Array> =>
    Uint32Array.from((await tokenizer.encode([text]))[0] as readonly number[]);
  const special = new Uint32Array(tokenizer.specialTokenCount);
  return {
    counted: true,
    async tokenize(text, addSpecialTokens) {
      const ids = await encode(text);
      // Which ones they are is the tokenizer's own affair; their number is what counts here.
      return addSpecialTokens && special.length > 0 ? Uint32Array.of(...special, ...ids) : ids;
    },
    detokenize: async (ids) => (await tokenizer.decode([[...ids]]))[0] as string,
    chatPrompt(messages) {
      const { chatTemplate } = tokenizer;
      return encode(chatTemplate ? chatTemplate.render(messages, { addGenerationPrompt: true }) : plainChat(messages));
    },
  };
}

/**
 * Without a vocabulary. A word with the space before it is one token, a longer one as many as it has pieces of eight
 * letters; a run of signs is one; of scripts without spaces each character is one. English comes to about 1.3 tokens a
 * word in real vocabularies, and here. Equal pieces have equal ids, so that equal prefixes are found; a text cannot be
 * made of ids.
 *
 * @param vocabSize ids are below this
 */
export function guessedPrompts(vocabSize: number): Prompts {
  const tokenize = (text: string): Uint32Array =>
    Uint32Array.from(text.match(piece) ?? [], (one) => idOf(one, vocabSize));
  return {
    counted: false,
    tokenize,
    detokenize() {
      throw new Refusal(501, 'no_tokenizer', 'this simulated engine has no vocabulary: start it with --tokenizer');
    },
    chatPrompt: (messages) => tokenize(plainChat(messages)),
  };
}

const noSpaces = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Hangul}';
const piece = new RegExp(
  `[${noSpaces}]|\\s?(?:(?![${noSpaces}])\\p{L}){1,8}|\\s?\\p{N}{1,3}|\\s?[^\\s\\p{L}\\p{N}]{1,4}|\\s+`,
  'gu',
);

/** FNV-1a of its UTF-16. */
function idOf(text: string, vocabSize: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % vocabSize;
}

const plainChat = (messages: Parameters<TokenSource['chatPrompt']>[0]): string =>
  `${messages.map(({ role, content }) => `${role}: ${content}`).join('\n')}\nassistant:`;
