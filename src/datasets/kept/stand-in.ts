import { pythonShuffle, pythonTwister } from '../../kit/mersenne-twister.ts';
import { answerLevels, answerQuantiles, promptQuantiles } from './stand-in-lengths.ts';

/** The first question of a conversation, and the answer to it. */
export interface Conversation {
  readonly prompt: string;
  readonly answer: string;
}

/** Conversations in each sixteenth of prompt lengths: 8192 in all. */
const perBin = 512;
const seed = 20_230_412;
/** What `vllm bench serve` lets through. */
const mostTokens = 2048;

/**
 * 8192 invented conversations that stand in for ShareGPT's where that is not to be had. Lengths of prompt and answer are
 * distributed, also together, as in the part of the real file that `vllm bench serve` uses; the words mean nothing.
 * Always the same ones; made on the first call and kept.
 *
 * Each word and each full stop is one token in the vocabularies of Qwen3, Llama 3 and Gemma 3, so lengths are exact
 * there, and within a few per cent wherever common English words are single tokens.
 */
export function standInConversations(): readonly Conversation[] {
  made ??= make();
  return made;
}

let made: readonly Conversation[] | undefined;

/**
 * Tokens of question and answer of the same conversations, in the same order; with another `count`, of that many (a
 * multiple of 16 and no fewer), at the middles of as many equal parts of the distribution.
 */
export function standInLengths(
  count = perBin * answerQuantiles.length,
): readonly { readonly prompt: number; readonly answer: number }[] {
  const inBin = Math.ceil(count / answerQuantiles.length);
  const generator = pythonTwister(seed);
  const lengths = answerQuantiles.flatMap((quantiles, bin) => {
    const prompts = evenly(inBin).map((share) =>
      interpolate(evenLevels, promptQuantiles, (bin + share) / answerQuantiles.length),
    );
    const answers = evenly(inBin).map((share) => interpolate(answerLevels, quantiles, share));
    pythonShuffle(generator, answers);
    return prompts.map((prompt, i) => ({ prompt, answer: Math.min(answers[i] as number, mostTokens - prompt) }));
  });
  pythonShuffle(generator, lengths);
  return lengths;
}

function make(): readonly Conversation[] {
  // Written when they are read: who needs a hundred shall not wait for all.
  return standInLengths().map(({ prompt, answer }, i) => ({
    get prompt() {
      return textOf(prompt, '?', wordDraws(2 * i));
    },
    get answer() {
      return textOf(answer, '.', wordDraws(2 * i + 1));
    },
  }));
}

/** Draws below n, n small: Marsaglia's xorshift with 32 bits. There are three million words to choose. */
function wordDraws(stream: number): (n: number) => number {
  let bits = (Math.imul(stream + 1, 0x9e3779b1) ^ seed) | 1;
  return (n) => {
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    return (bits >>> 0) % n;
  };
}

const evenLevels: readonly number[] = promptQuantiles.map((_, i) => i / (promptQuantiles.length - 1));

/** The middles of `count` equal parts of [0, 1]. */
const evenly = (count: number): number[] => Array.from({ length: count }, (_, i) => (i + 0.5) / count);

/** A length at the share `p` of all, between two quantiles in proportion: the upper tail is long. */
function interpolate(levels: readonly number[], quantiles: readonly number[], p: number): number {
  const above = levels.findIndex((level) => level >= p);
  const [low, high] = [levels[above - 1] as number, levels[above] as number];
  const [from, to] = [quantiles[above - 1] as number, quantiles[above] as number];
  return Math.round(from * (to / from) ** ((p - low) / (high - low)));
}

const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

const determiners = wordsOf('the this that one each every another any some no our your my his her its');
const adjectives = wordsOf(`
  small large early late quick slow bright dark quiet loud simple complex common rare fresh old young warm cold clear
  heavy light open public private local distant modern ancient gentle strong weak narrow wide deep flat round sharp soft
  hard dry wet clean empty full careful serious formal usual recent final`);
const nouns = wordsOf(`
  river mountain garden window letter market machine engine bridge teacher student doctor farmer writer painter village
  city road station forest island harbor valley field kitchen library school office factory table chair lamp clock paper
  pencil book story song picture number question answer problem method result report plan budget price contract meeting
  lesson season morning evening winter summer rain wind snow storm cloud shadow stone wood metal glass water bread fruit
  coffee sugar salt animal horse bird fish tree flower leaf seed root branch signal message network server memory record
  schedule deadline`);
const verbs = wordsOf(`
  finds makes takes gives shows keeps leaves moves turns opens closes starts stops follows leads carries holds builds
  breaks reads writes draws cuts covers crosses reaches passes meets helps needs wants likes knows sees hears tells asks
  answers explains describes compares measures counts changes improves supports protects replaces removes adds joins
  shares sends receives visits studies`);
const prepositions = wordsOf(`
  in on under over near behind beside before after during without with from into through across along around between
  against toward beyond within above below`);

/** One kind of word after the other makes a sentence. */
const sentence = [
  determiners,
  adjectives,
  nouns,
  verbs,
  determiners,
  nouns,
  prepositions,
  determiners,
  adjectives,
  nouns,
];

/** A text of `tokens` words and marks, at least 2; `mark` ends it. */
function textOf(tokens: number, mark: string, below: (n: number) => number): string {
  const parts: string[] = [];
  let place = 0;
  for (let left = tokens - 1; left > 0; left--) {
    if (place === sentence.length) {
      // Two marks in a row would be one token.
      parts.push(left === 1 ? ' today' : '. ');
      place = 0;
      continue;
    }
    const kind = sentence[place] as readonly string[];
    const word = kind[below(kind.length)] as string;
    parts.push(place === 0 ? `${word.charAt(0).toUpperCase()}${word.slice(1)}` : ` ${word}`);
    place++;
  }
  return parts.join('') + mark;
}
