import { copyFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrivalTimes } from '../../src/load/arrivals.ts';
import { bench, block, figure, linesOf, savedIn, trouble } from './bench-runs.ts';
import { folder } from './command.ts';
import { asked, bodies, calls, openAiServer, refusal } from './openai-server.ts';

/** A file of prompts that are easy to tell apart. */
function customFile(count = 6): string {
  const path = join(folder(), 'prompts.jsonl');
  const rows = Array.from({ length: count }, (_, i) => JSON.stringify({ prompt: `What is ${i} and one?`, output_tokens: 3 + i })); // biome-ignore format: one line
  writeFileSync(path, `${rows.join('\n')}\n`);
  return path;
}
const custom = (count?: number): string[] => ['--dataset-name', 'custom', '--dataset-path', customFile(count)];

describe('LoRA modules', () => {
  const modules = ['--lora-modules', 'a', 'b', 'c'];
  it('go round', async () => {
    await using server = await openAiServer();
    const flags = [...modules, '--lora-assignment', 'round-robin', '--request-id-prefix', 'r-', '--num-warmups', '2'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    const measured = asked(server).filter(({ headers }) => headers['x-request-id'] !== undefined);
    const models = new Map(measured.map(({ headers, body }) => [headers['x-request-id'], JSON.parse(body).model]));
    expect(Object.fromEntries(models)).toEqual({ 'r-0': 'a', 'r-1': 'b', 'r-2': 'c', 'r-3': 'a', 'r-4': 'b', 'r-5': 'c' });
    // A module is loaded with its first request, so the warm-up asks for them too.
    expect(new Set(bodies(server).map(({ model }) => model))).toEqual(new Set(['a', 'b', 'c']));
  }); // biome-ignore format: the table of models

  it('are drawn, for what a load by time sends in the end as well', async () => {
    await using server = await openAiServer();
    const flags = [...modules, '--min-duration-s', '0.6', '--max-concurrency', '2'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    const models = bodies(server).map(({ model }) => model);
    expect(models.length).toBeGreaterThan(6);
    expect(new Set(models)).toEqual(new Set(['a', 'b', 'c']));
  });

  it('are not asked for by what vLLM sends before the load', async () => {
    await using server = await openAiServer();
    expect(trouble(await bench(server, [...modules, '--compat', 'vllm-0.11.1', '--num-warmups', '1']))).toEqual([]);
    expect(bodies(server).map(({ model }) => model === 'tiny-qwen3')).toEqual([true, true, ...Array(6).fill(false)]);
  });
});

describe('the request body', () => {
  it('has --extra-body laid over it, also in the request before the load', async () => {
    await using server = await openAiServer();
    const flags = ['--compat', 'vllm-0.11.1', '--temperature', '0.3', '--extra-body', '{"temperature":1,"stop":["x"]}'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    const sent = bodies(server);
    expect(sent).toHaveLength(7);
    for (const body of sent) expect(body).toMatchObject({ temperature: 1, stop: ['x'], max_tokens: 6 });
  });

  it('holds prompts in the chat template with --chat-template-kwargs', async () => {
    await using server = await openAiServer();
    const dir = folder();
    copyFileSync(resolve('assets/tiny-qwen3/tokenizer.json'), join(dir, 'tokenizer.json'));
    const template =
      '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}' +
      '{% if add_generation_prompt %}<assistant>{% endif %}{% if quiet %}<quiet>{% endif %}';
    writeFileSync(join(dir, 'tokenizer_config.json'), JSON.stringify({ chat_template: template }));
    const flags = [...custom(), '--tokenizer', dir, '--chat-template-kwargs', '{"quiet": true}', '--disable-shuffle'];
    expect(trouble(await bench(server, [...flags, '--max-concurrency', '1']))).toEqual([]);
    expect(bodies(server).map(({ prompt }) => prompt)).toEqual(
      Array.from({ length: 6 }, (_, i) => `<user>What is ${i} and one?<assistant><quiet>`),
    );
  });

  it('asks for log probabilities, and names headers of one’s own', async () => {
    await using server = await openAiServer();
    expect(trouble(await bench(server, ['--logprobs', '2', '--header', 'X-Team=blue']))).toEqual([]);
    expect(bodies(server).map(({ logprobs }) => logprobs)).toEqual(Array(6).fill(2));
    expect(server.seen.map(({ headers }) => headers['x-team'])).toEqual(Array(7).fill('blue'));
  });
});

describe('--profile', () => {
  it('frames the load', async () => {
    await using server = await openAiServer();
    expect(trouble(await bench(server, ['--profile', '--num-warmups', '2']))).toEqual([]);
    expect(server.seen.map(({ url }) => url.replace('/v1/', ''))).toEqual([
      'models',
      ...['completions', 'completions'],
      '/start_profile',
      ...Array(6).fill('completions'),
      '/stop_profile',
    ]);
  });

  const without = () =>
    openAiServer({ instead: ({ url }) => (url.endsWith('_profile') ? refusal(404, 'none') : undefined) });

  it('is refused before the load where the server cannot', async () => {
    await using server = await without();
    const { code, stderr } = await bench(server, ['--profile']);
    expect([code, asked(server).length]).toEqual([2, 0]);
    expect(stderr).toMatch(/--profile: .*start_profile answers 404/);
  });

  it('is done without where vLLM would, with a warning', async () => {
    await using server = await without();
    const ended = await bench(server, ['--profile', '--compat', 'vllm-2026-08']);
    expect(trouble(ended)).toEqual([]);
    expect(ended.stderr).toContain('warning: nothing is profiled');
    expect(calls(server, '/stop_profile')).toBe(0);
  });

  it('is ended and costs no figure when the end fails', async () => {
    await using server = await openAiServer({
      instead: ({ url }) => (url.endsWith('stop_profile') ? refusal(500, 'lost') : undefined),
    });
    const ended = await bench(server, ['--profile']);
    expect(trouble(ended)).toEqual([]);
    expect(ended.stderr).toContain('warning: the server may still be profiling');
    expect(figure(ended.stdout, 'Successful requests:')).toBe('6');
  });
});

describe('arrivals', () => {
  it.each([['1'], ['0.5'], ['inf']])('at a rate with burstiness %s are those of the schedule', async (burstiness) => {
    await using server = await openAiServer();
    const path = join(folder(), 'r.jsonl');
    const flags = ['--request-rate', '40', '--burstiness', burstiness, '--num-prompts', '16', '--seed', '5'];
    const ended = await bench(server, [...flags, '--records', path]);
    expect(trouble(ended)).toEqual([]);
    expect(figure(ended.stdout, 'Request rate configured (RPS):')).toBe('40.00');
    const wanted = arrivalTimes(16, { requestRate: 40, burstiness: Number(burstiness.replace('inf', 'Infinity')), seed: 5 });
    const lines = [...linesOf(path)].sort((a, b) => Number(a.index) - Number(b.index));
    for (const [i, { intendedSendS, sendS }] of lines.entries()) {
      expect(intendedSendS).toBeCloseTo(wanted[i] as number, 5);
      expect(sendS).toBeGreaterThanOrEqual(Number(intendedSendS) - 1e-3);
    }
    // The last one is due at count / rate; the server saw them over that time.
    const spanS = (asked(server).at(-1)?.receivedS ?? 0) - (asked(server)[0]?.receivedS ?? 0);
    expect(spanS).toBeGreaterThan(((wanted[15] as number) - (wanted[0] as number)) * 0.6);
  }); // biome-ignore format: one line

  it('never exceed --max-concurrency at the server', async () => {
    await using server = await openAiServer({ everyMs: 5 });
    const ended = await bench(server, ['--max-concurrency', '3', '--num-prompts', '20', '--num-warmups', '5']);
    expect(trouble(ended)).toEqual([]);
    expect(server.most).toBe(3);
    expect(figure(ended.stdout, 'Peak concurrent requests:')).toBe('3.00');
  });
});

describe('--num-warmups', () => {
  const named = (server: Parameters<typeof asked>[0], id: boolean) =>
    asked(server).flatMap(({ headers, body }) =>
      (headers['x-request-id'] !== undefined) === id ? [(JSON.parse(body) as { prompt: string }).prompt] : [],
    );

  it('sends other prompts, which no figure has', async () => {
    await using server = await openAiServer();
    const ended = await bench(server, ['--num-warmups', '4']);
    expect(trouble(ended)).toEqual([]);
    expect(figure(ended.stdout, 'Successful requests:')).toBe('6');
    const [measured, before] = [named(server, true), named(server, false)];
    expect([measured.length, before.length]).toEqual([6, 4]);
    expect(new Set([...measured, ...before]).size).toBe(10);
  });

  it('sends the first prompt again and again in vLLM’s modes', async () => {
    await using server = await openAiServer();
    const flags = ['--num-warmups', '4', '--compat', 'vllm-2026-08', '--max-concurrency', '1'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    const measured = named(server, true);
    expect(measured).toHaveLength(6);
    expect(named(server, false)).toEqual(Array(4).fill(measured[0]));
  });
});

it('--goodput is in the block and in the file', async () => {
  await using server = await openAiServer();
  for (const [limit, good] of [['ttft:60000', 6], ['e2el:0.001', 0]] as const) {
    const dir = folder();
    const ended = await bench(server, ['--goodput', limit, '--save-result', '--result-dir', dir]);
    expect(trouble(ended)).toEqual([]);
    const { saved } = savedIn(dir);
    expect(saved.request_goodput).toBeCloseTo(good / Number(saved.duration), 6);
    expect(figure(ended.stdout, 'Request goodput (req/s):')).toBe((saved.request_goodput as number).toFixed(2));
  }
}); // biome-ignore format: the cases in one line

it('--request-timeout-s gives a request up', async () => {
  await using server = await openAiServer({
    instead: ({ headers }) =>
      String(headers['x-request-id']).endsWith('1') ? { steps: [{ afterMs: 0, close: 'hold' }] } : undefined,
  });
  const { code, stdout, stderr } = await bench(server, ['--request-timeout-s', '2']);
  expect([code, figure(stdout, 'Failed requests:')]).toEqual([3, '1']);
  expect(stderr).toContain('1 x no end after 2 s');
});

describe('a server that tells no usage', () => {
  const silent = () =>
    openAiServer({
      instead: ({ url }) => {
        if (!url.endsWith('completions')) return undefined;
        const event = (text: string, finish_reason: string | null) => ({
          afterMs: 5,
          bytes: `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason }] })}\n\n`,
        });
        return { steps: [event(' the the', null), event(' the the the', null), event(' the', 'length')] };
      },
    });

  it('has its answers encoded, which is said', async () => {
    await using server = await silent();
    const ended = await bench(server);
    expect(trouble(ended)).toEqual([]);
    expect(figure(ended.stdout, 'Total generated tokens:')).toBe('36');
    expect(ended.stderr).toContain('for 6 requests by encoding the answer');
  });

  it('has its events counted where there is no tokenizer', async () => {
    await using server = await silent();
    const ended = await bench(server, [...custom(), '--skip-tokenizer-init', '--custom-output-len', '3']);
    expect(trouble(ended)).toEqual([]);
    expect(figure(ended.stdout, 'Total generated tokens:')).toBe('18');
    expect(ended.stderr).toContain('for 6 requests as one an event');
  });
});

it('works without a tokenizer on a file of one’s own', async () => {
  await using server = await openAiServer();
  const dir = folder();
  const flags = [...custom(), '--skip-tokenizer-init', '--custom-output-len', '-1', '--disable-shuffle'];
  const ended = await bench(server, [...flags, '--max-concurrency', '1', '--save-result', '--result-dir', dir]);
  expect(trouble(ended)).toEqual([]);
  expect(bodies(server).map(({ prompt, max_tokens }) => [prompt, max_tokens])).toEqual(
    Array.from({ length: 6 }, (_, i) => [`What is ${i} and one?`, 3 + i]),
  );
  expect(figure(ended.stdout, 'Total input tokens:')).toBe(String(6 * 21));
  expect(savedIn(dir).saved.tokenizer_id).toBeNull();
});

it('--no-oversample sends each row once', async () => {
  await using server = await openAiServer();
  const ended = await bench(server, [...custom(4), '--skip-chat-template', '--no-oversample', '--num-prompts', '10']);
  expect(trouble(ended)).toEqual([]);
  expect(new Set(bodies(server).map(({ prompt }) => prompt)).size).toBe(4);
  expect([asked(server).length, figure(ended.stdout, 'Successful requests:')]).toEqual([4, '4']);
});

it.each(['servetune', 'vllm-2026-08'])('embeddings have a latency and nothing else (%s)', async (mode) => {
  await using server = await openAiServer();
  const dir = folder();
  const flags = ['--backend', 'openai-embeddings', '--compat', mode, '--save-result', '--result-dir', dir];
  const ended = await bench(server, flags);
  expect(trouble(ended)).toEqual([]);
  const text = block(ended.stdout);
  expect(text).not.toMatch(/generated|output token|TTFT|TPOT|ITL/i);
  expect(text.match(/^-+.*$/gm)).toEqual(['----------------End-to-end Latency----------------']);
  expect(figure(text, 'Total input tokens:')).toBe(String(6 * 21));
  expect(bodies(server)[0]).toMatchObject({ model: 'tiny-qwen3', input: expect.any(String) });
  const { saved } = savedIn(dir);
  expect(saved.mean_e2el_ms).toBeGreaterThan(0);
  expect(Object.keys(saved)).not.toContain('total_output_tokens');
});

it('sharegpt without a file says that it is a stand-in, on the screen and in the file', async () => {
  await using server = await openAiServer();
  const dir = folder();
  const flags = ['--dataset-name', 'sharegpt', '--sharegpt-output-len', '4', '--num-prompts', '8'];
  const cache = { env: { SERVETUNE_CACHE: folder() } };
  const ended = await bench(server, [...flags, '--save-result', '--result-dir', dir], cache);
  expect(trouble(ended)).toEqual([]);
  expect(ended.stderr).toContain('synthetic stand-in');
  expect(JSON.stringify(savedIn(dir).saved)).toContain('synthetic stand-in');
  expect(bodies(server).some(({ ignore_eos }) => ignore_eos)).toBe(false);
});
