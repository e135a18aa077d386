import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { burstgpt } from '../../src/datasets/burstgpt.ts';
import { custom } from '../../src/datasets/custom.ts';
import type { Dataset } from '../../src/datasets/dataset.ts';
import { prefixRepetition } from '../../src/datasets/prefix-repetition.ts';
import { random } from '../../src/datasets/random.ts';
import { sonnet } from '../../src/datasets/sonnet.ts';
import { endpointNamed } from '../../src/endpoints/table.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { plan, runAt } from '../load/loads.ts';
import { chatty, fileOf, fixture, jsonl, made } from './files.ts';

/** What a server makes of the prompts of a dataset, sent to a completions endpoint. */

/** One id a token, as text `id,id,...`; the text always encodes to a share more than it was made of. */
const longer = (share: number, specialTokenCount = 0): Tokenizer => ({
  name: 'longer',
  fingerprint: null,
  chatTemplate: null,
  vocabSize: 50_000,
  specialIds: [],
  specialTokenCount,
  encode: async (texts) =>
    texts.map((text) => {
      const ids = text.split(',').map(Number);
      return [...ids, ...new Array<number>(Math.ceil(ids.length * share)).fill(0)];
    }),
  decode: async (ids) => ids.map((list) => list.join()),
});

/**
 * Refuses what does not fit, counting with the tokenizer; puts its special tokens in front unless it is told not to.
 */
async function startServer(tokenizer: Tokenizer, maxModelLen: number) {
  const counts: number[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const { prompt, max_tokens, add_special_tokens = true } = JSON.parse(text);
    const [ids] = await tokenizer.encode([prompt]);
    const prompt_tokens = (ids?.length ?? 0) + (add_special_tokens ? tokenizer.specialTokenCount : 0);
    counts.push(prompt_tokens);
    if (prompt_tokens + max_tokens > maxModelLen) {
      response.writeHead(400, { 'content-type': 'application/json' });
      const message = `This model's maximum context length is ${maxModelLen} tokens, not ${prompt_tokens + max_tokens}.`;
      response.end(JSON.stringify({ error: { message, code: 400 } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const token = `data: ${JSON.stringify({ choices: [{ text: 'x', finish_reason: null }] })}\n\n`;
    const usage = { prompt_tokens, completion_tokens: max_tokens };
    const last = { choices: [{ text: '', finish_reason: 'length' }], usage };
    response.end(`${token.repeat(max_tokens)}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    counts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function served(
  dataset: Dataset,
  options: Record<string, unknown>,
  {
    tokenizer,
    maxModelLen = 1_000_000,
    extraBody = {},
  }: { tokenizer: Tokenizer; maxModelLen?: number; extraBody?: object },
) {
  const { requests, notes } = await made(dataset, options, 24, { tokenizer });
  await using server = await startServer(tokenizer, maxModelLen);
  const { records } = await runAt(
    { baseUrl: server.baseUrl, endpoint: endpointNamed('openai') },
    { ...plan(0), requests, minRequests: requests.length, maxConcurrency: 4, extraBody: { ...extraBody } },
  );
  const summary = summarize(records, { asked: requests.length, percentiles: [], notes });
  return { requests, notes, summary, records, counts: server.counts };
}

const lengths = { random_input_len: 120, random_output_len: 7 };

describe('a tokenizer whose text has 3 % more tokens than it was made of (case 46)', () => {
  const rows = ['Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type'];
  for (let i = 0; i < 40; i++) rows.push(`${i},GPT-4,${i === 0 ? 120 : 20 + i},7,0,API log`);
  it.each<[string, Dataset, Record<string, unknown>]>([
    ['random', random, lengths],
    ['random behind a prefix', random, { ...lengths, random_input_len: 90, random_prefix_len: 30 }],
    [
      'prefix_repetition',
      prefixRepetition,
      { prefix_repetition_prefix_len: 50, prefix_repetition_suffix_len: 70, prefix_repetition_num_prefixes: 3, prefix_repetition_output_len: 7 },
    ],
    ['burstgpt', burstgpt, { dataset_path: fileOf(rows.join('\n'), 'rows.csv') }],
  ])('makes no request of %s longer than prompt and answer may be, and the deviation is told', async (_, dataset, options) => {
    const tokenizer = longer(0.03);
    const { summary, requests, counts, notes } = await served(dataset, options, { tokenizer, maxModelLen: 120 + 7 });
    expect(summary).toMatchObject({ ok: 24, failed: 0, inputTokensByClient: summary.inputTokens });
    expect(Math.max(...counts)).toBeLessThanOrEqual(120);
    expect([...counts].sort()).toEqual(requests.map(({ promptTokens }) => promptTokens).sort());
    expect(summary.warnings).toEqual(expect.arrayContaining([...notes]));
    const off = counts.some((count) => count !== 120);
    if (dataset !== burstgpt && off) expect(notes[0]).toMatch(/prompts have another length than asked, by at most/);
  }); // biome-ignore format: one case a line

  it('is refused by the server in the way of vLLM, which does not see it', async () => {
    const tokenizer = longer(0.03);
    const { summary } = await served(random, { ...lengths, compat: 'vllm-2026-08' }, { tokenizer, maxModelLen: 127 });
    expect(summary).toMatchObject({ ok: 0, outcomes: { http_error: 24 } });
  });
});

describe('a server that puts a special token in front', () => {
  const tokenizer = longer(0, 1);

  it('still gets prompts of the length asked for, as long as the client says (case 46)', async () => {
    const { summary, counts } = await served(random, lengths, { tokenizer, maxModelLen: 127 });
    expect(summary).toMatchObject({ ok: 24, inputTokens: 24 * 120, inputTokensByClient: 24 * 120 });
    expect(summary.warnings.filter((warning) => warning.includes('prompt'))).toEqual([]);
    expect(new Set(counts)).toEqual(new Set([120]));
  });

  it.each<[string, Dataset, Record<string, unknown>]>([
    ['custom', custom, { dataset_path: fileOf(jsonl({ prompt: 'Say hello.' })), custom_output_len: 3 }],
    ['sonnet', sonnet, { dataset_path: fixture('poem.txt'), sonnet_input_len: 160, sonnet_prefix_len: 60, sonnet_output_len: 3 }],
  ])('does so before a template that has its own: %s (case 50)', async (_, dataset, options) => {
    const doubled = { ...chatty, specialTokenCount: 1 };
    const told = await served(dataset, options, { tokenizer: doubled });
    expect(told.requests[0]?.prompt).toMatch(/^<\|im_start\|>user\n/);
    expect(told.notes[0]).toMatch(/special tokens of the chat template, and the server adds 1 in front, unless .*"add_special_tokens": false/);
    // The length covers the template and what the server adds to it.
    expect(told.summary.inputTokensByClient).toBe(told.summary.inputTokens);
    if (dataset === sonnet) expect(Math.max(...told.counts)).toBeLessThanOrEqual(160);
    const single = await served(dataset, options, { tokenizer: doubled, extraBody: { add_special_tokens: false } });
    expect(single.summary.inputTokens).toBe(told.summary.inputTokens - 24);
    const plain = await served(dataset, options, { tokenizer: chatty });
    expect(plain.notes.filter((note) => note.includes('special tokens'))).toEqual([]);
  }); // biome-ignore format: one case a line
});
