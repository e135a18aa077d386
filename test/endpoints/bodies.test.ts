import { describe, expect, it } from 'vitest';
import type { RequestOptions } from '../../src/endpoints/endpoint.ts';
import { unsupported } from '../../src/endpoints/sampling.ts';
import { endpointNamed } from '../../src/endpoints/table.ts';
import type { Compat } from '../../src/records/compat.ts';

const spec = { index: 3, prompt: 'Say hi', promptTokens: 2, outputTokens: 17 };

const bodyOf = (name: string, more: Partial<RequestOptions> = {}): unknown =>
  endpointNamed(name).body(spec, { model: 'm', sampling: {}, ignoreEos: false, compat: 'servetune', ...more });

const stream = { stream: true, stream_options: { include_usage: true } };

/** The keys and values that vLLM's own client of each release puts into its JSON, read in its benchmark code. */
describe('bodies of `vllm bench serve`', () => {
  const older: readonly Compat[] = ['vllm-0.11.0', 'vllm-0.11.1'];
  const completions = {
    model: 'm',
    prompt: 'Say hi',
    repetition_penalty: 1,
    max_tokens: 17,
    logprobs: null,
    ...stream,
  };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Say hi' }] }];
  const chat = { model: 'm', messages, max_completion_tokens: 17, ...stream };

  it.each(older)('are greedy by default in %s', (compat) => {
    expect(bodyOf('openai', { compat })).toEqual({ ...completions, temperature: 0 });
    expect(bodyOf('openai-chat', { compat })).toEqual({ ...chat, temperature: 0 });
    expect(bodyOf('vllm', { compat })).toEqual({ ...completions, temperature: 0 });
    expect(bodyOf('openai', { compat, sampling: { temperature: undefined } })).toHaveProperty('temperature', 0);
  });

  it('leave the temperature to the server in vllm-2026-08', () => {
    const compat = 'vllm-2026-08';
    expect(bodyOf('openai', { compat })).toEqual(completions);
    expect(bodyOf('openai-chat', { compat })).toEqual(chat);
  });

  it.each<Compat>([...older, 'vllm-2026-08'])('carry what was asked for in %s', (compat) => {
    const asks = { compat, ignoreEos: true, logprobs: 5, sampling: { temperature: 0.7, top_k: 20 } };
    const sent = { ignore_eos: true, temperature: 0.7, top_k: 20 };
    expect(bodyOf('openai', asks)).toEqual({ ...completions, ...sent, logprobs: 5 });
    expect(bodyOf('openai-chat', asks)).toEqual({ ...chat, ...sent });
    expect(bodyOf('openai', { compat, sampling: { repetition_penalty: 1.3 } })).toHaveProperty(
      'repetition_penalty',
      1.3,
    );
  });

  it('cut embedding prompts from v0.11.1 on', () => {
    const embeddings = { model: 'm', input: 'Say hi' };
    expect(bodyOf('openai-embeddings', { compat: 'vllm-0.11.0' })).toEqual(embeddings);
    expect(bodyOf('openai-embeddings', { compat: 'vllm-0.11.1' })).toEqual({
      ...embeddings,
      truncate_prompt_tokens: -1,
    });
    expect(bodyOf('openai-embeddings', { compat: 'vllm-2026-08' })).toEqual({
      ...embeddings,
      truncate_prompt_tokens: -1,
    });
    expect(bodyOf('openai-embeddings')).toEqual(embeddings);
  });
});

describe('our own bodies', () => {
  const asks = { ignoreEos: true, logprobs: 5, sampling: { temperature: 0, top_p: 0.9 } };

  it('of the OpenAI dialects', () => {
    const sent = { model: 'm', temperature: 0, top_p: 0.9, ignore_eos: true, ...stream };
    expect(bodyOf('openai', asks)).toEqual({ ...sent, prompt: 'Say hi', max_tokens: 17, logprobs: 5 });
    expect(bodyOf('openai')).toEqual({ model: 'm', prompt: 'Say hi', max_tokens: 17, ...stream });
    const messages = [{ role: 'user', content: 'Say hi' }];
    expect(bodyOf('openai-chat', asks)).toEqual({
      ...sent,
      messages,
      max_completion_tokens: 17,
      logprobs: true,
      top_logprobs: 5,
    });
    expect(bodyOf('openai-chat')).toEqual({ model: 'm', messages, max_completion_tokens: 17, ...stream });
  });

  it('of SGLang', () => {
    expect(bodyOf('sglang', asks)).toEqual({
      text: 'Say hi',
      sampling_params: { temperature: 0, top_p: 0.9, max_new_tokens: 17, ignore_eos: true },
      stream: true,
      return_logprob: true,
      top_logprobs_num: 5,
    });
    expect(bodyOf('sglang')).toEqual({ text: 'Say hi', sampling_params: { max_new_tokens: 17 }, stream: true });
  });

  it('of TensorRT-LLM: greedy without a temperature, the minimum under both of its names', () => {
    const common = {
      text_input: 'Say hi',
      max_tokens: 17,
      stream: true,
      return_num_input_tokens: true,
      return_num_output_tokens: true,
    };
    expect(bodyOf('tensorrt-llm')).toEqual(common);
    expect(bodyOf('tensorrt-llm', asks)).toEqual({ ...common, top_k: 1, min_tokens: 17, min_length: 17 });
    expect(bodyOf('tensorrt-llm', { sampling: { temperature: 0.7, top_k: -1, presence_penalty: 0.5 } })).toEqual({
      ...common,
      temperature: 0.7,
      top_k: 0,
      presence_penalty: 0.5,
    });
  });

  it('of TGI: nothing that it refuses, and nothing that makes a greedy request sample', () => {
    const body = (sampling: RequestOptions['sampling'], more: Partial<RequestOptions> = {}): unknown =>
      bodyOf('tgi', { ...more, sampling });
    const common = { max_new_tokens: 17, details: true };
    expect(body({})).toEqual({ inputs: 'Say hi', parameters: common });
    expect(body({ temperature: 0, top_p: 0.9, top_k: 5, frequency_penalty: 1 }, { ignoreEos: true })).toEqual({
      inputs: 'Say hi',
      parameters: { ...common, do_sample: false, frequency_penalty: 1 },
    });
    expect(body({ temperature: 0.7, top_p: 1, top_k: -1 }, { logprobs: 2 })).toEqual({
      inputs: 'Say hi',
      parameters: { ...common, do_sample: true, temperature: 0.7, top_n_tokens: 2 },
    });
    expect(body({ top_p: 0.9 })).toHaveProperty('parameters', { ...common, do_sample: true, top_p: 0.9 });
  });

  it('of llama.cpp', () => {
    expect(bodyOf('llama.cpp', { ...asks, sampling: { temperature: 0, repetition_penalty: 1.1 } })).toEqual({
      prompt: 'Say hi',
      temperature: 0,
      repeat_penalty: 1.1,
      n_predict: 17,
      stream: true,
      ignore_eos: true,
      n_probs: 5,
    });
    expect(bodyOf('llama.cpp')).toEqual({ prompt: 'Say hi', n_predict: 17, stream: true });
  });

  it.each([
    ['sglang', 'lora_path'],
    ['tgi', 'parameters.adapter_id'],
  ])('of %s name an adapter in %s', (name, place) => {
    const options: RequestOptions = { model: 'a', sampling: {}, ignoreEos: false, compat: 'servetune' };
    expect(endpointNamed(name).body({ ...spec, model: 'a' }, options)).toHaveProperty(place, 'a');
  });
});

it('says what a dialect has no word for', () => {
  const asks = { sampling: { min_p: 0.1, top_p: 0.5, presence_penalty: undefined }, logprobs: 1 };
  expect(unsupported(endpointNamed('openai'), asks, true)).toEqual([]);
  expect(unsupported(endpointNamed('tgi'), asks, true)).toEqual(['min_p']);
  expect(unsupported(endpointNamed('tensorrt-llm'), asks, true)).toEqual(['min_p', 'logprobs', 'lora']);
  expect(unsupported(endpointNamed('openai-embeddings'), asks)).toEqual(['top_p', 'min_p', 'logprobs']);
});
