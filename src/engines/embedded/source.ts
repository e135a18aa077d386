import { randomInt } from 'node:crypto';
import type { ChatMessage, Generation, TokenSource } from '../../serving/source.ts';
import type { Addon, AddonSampler } from './addon.ts';
import { startBatching } from './batching.ts';
import type { Llama } from './llama.ts';
import type { ServeOptions } from './options.ts';
import { readPieces } from './pieces.ts';

export interface SourceOptions {
  readonly options: ServeOptions;
  /** That libuv has one worker thread; see `BatchingOptions`. */
  readonly oneWorker: boolean;
  readonly onFatal: (error: unknown) => void;
}

/** The loaded model as something that gives tokens. */
export function embeddedSource(llama: Llama, { options, oneWorker, onFatal }: SourceOptions): TokenSource {
  const { model, context } = llama;
  const ends = endTokens(llama);
  const isEnd = new Set(ends);
  const batching = startBatching({
    context,
    slots: options.parallel,
    batchSize: llama.batchSize,
    contextSize: llama.contextSize,
    oneWorker,
    piece: readPieces(model),
    isEnd: (token) => isEnd.has(token),
    sampler: samplerFor(llama, ends),
    onFatal,
  });
  const tokenize = (text: string, addSpecialTokens: boolean): Uint32Array => {
    const tokens = model.tokenize(text, true);
    const begin = addSpecialTokens && model.shouldPrependBosToken() ? model.tokenBos() : null;
    if (begin === null) return tokens;
    const all = new Uint32Array(tokens.length + 1);
    all[0] = begin;
    all.set(tokens, 1);
    return all;
  };
  return {
    modelName: options.model,
    maxModelLen: llama.contextLength,
    trainContext: model.getTrainContextSize(),
    vocabSize: llama.vocabSize,
    version: `embedded ${llama.version}`,
    settings: settingsInForce(llama, options),
    tokenize,
    detokenize: (tokens) => (tokens.length === 0 ? '' : model.detokenize(tokens, true)),
    chatPrompt: chatPrompt(llama, tokenize),
    start: batching.start,
    stats: batching.stats,
  };
}

/** By engine-neutral name, as the engine has them, not as they were asked for. */
function settingsInForce(llama: Llama, options: ServeOptions): Readonly<Record<string, string>> {
  return {
    quantization: fileType(llama.model.getModelDescription()),
    attention_backend: llama.flashAttention === undefined ? 'auto' : llama.flashAttention ? 'flash' : 'plain',
    kv_cache_dtype: options.cache_type,
    max_running_requests: String(options.parallel),
    max_batched_tokens: String(llama.batchSize),
    context_length: String(llama.contextLength),
    threads: String(llama.threads),
  };
}

/** `qwen3 ?B Q8_0` -> `q8_0`, `qwen3 ?B F16` -> `f16`, `llama 8B Q4_K - Medium` -> `q4_k - medium`. */
function fileType(description: string): string {
  return description.split(' ').slice(2).join(' ').toLowerCase();
}

/** Tokens with which the model ends an answer. */
function endTokens({ model, vocabSize }: Llama): readonly number[] {
  const ends: number[] = [];
  for (let token = 0; token < vocabSize; token++) if (model.isEogToken(token)) ends.push(token);
  return ends;
}

function samplerFor({ addon, model }: Llama, ends: readonly number[]) {
  const bias = {
    tokenBiasKeys: Uint32Array.from(ends),
    tokenBiasValues: new Float32Array(ends.length).fill(Number.NEGATIVE_INFINITY),
  };
  return ({ temperature, topP, seed, ignoreEos }: Generation, used: AddonSampler | undefined): AddonSampler => {
    let sampler = used;
    // Taking the likeliest token leaves no state behind; drawing does, and a seed must begin anew with each request.
    if (temperature > 0) {
      sampler?.dispose();
      sampler = undefined;
    }
    sampler ??= new addon.AddonSampler(model);
    const sampling = temperature > 0 ? { topP, seed: seed ?? randomInt(2 ** 32) } : {};
    sampler.applyConfig({ temperature, ...sampling, ...(ignoreEos && ends.length > 0 ? bias : {}) });
    return sampler;
  };
}

/** The model's own template; a model that has none gets the messages' texts, one below the other. */
function chatPrompt(
  { addon, model, chatTemplate }: Llama,
  tokenize: (text: string, addSpecialTokens: boolean) => Uint32Array,
): (messages: readonly ChatMessage[]) => Uint32Array {
  if (chatTemplate === undefined) {
    return (messages) => tokenize(messages.map(({ content }) => content).join('\n'), true);
  }
  const spelling = (token: number | null) => (token === null ? '' : model.getTokenString(token));
  const tokens = { bos_token: spelling(model.tokenBos()), eos_token: spelling(model.tokenEos()) };
  // Made when the first chat comes: a template that cannot be read must not keep the model from completing texts.
  let renderer: InstanceType<Addon['AddonJinjaRenderer']> | undefined;
  return (messages) => {
    renderer ??= new addon.AddonJinjaRenderer(chatTemplate);
    const text = renderer.render({ messages, add_generation_prompt: true, ...tokens });
    // Most templates that begin with the begin token write it themselves.
    const begins = tokens.bos_token !== '' && text.startsWith(tokens.bos_token);
    return tokenize(text, !begins);
  };
}
