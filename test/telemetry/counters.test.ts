import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { CounterScrape, Counters, CounterValues } from '../../src/records/counters.ts';
import { counterSummary } from '../../src/telemetry/counter-summary.ts';
import { watchCounters } from '../../src/telemetry/counter-watch.ts';
import { readCounters } from '../../src/telemetry/counters.ts';
import { eventually } from '../processes/living.ts';
import { never } from './stand-ins.ts';

const vllm: Counters = {
  format: 'prometheus',
  path: '/metrics',
  names: {
    running: ['vllm:num_requests_running'],
    waiting: ['vllm:num_requests_waiting'],
    kvUseShare: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
    preemptions: ['vllm:num_preemptions_total'],
    prefixQueries: ['vllm:prefix_cache_queries_total'],
    prefixHits: ['vllm:prefix_cache_hits_total'],
    draftTokens: ['vllm:spec_decode_num_draft_tokens_total'],
    acceptedTokens: ['vllm:spec_decode_num_accepted_tokens_total'],
  },
};
const sglang: Counters = {
  format: 'prometheus',
  path: '/metrics',
  names: {
    running: ['sglang:num_running_reqs'],
    waiting: ['sglang:num_queue_reqs'],
    kvUseShare: ['sglang:full_token_usage', 'sglang:token_usage'],
    preemptions: ['sglang:num_retracted_requests_total'],
    prefixQueries: ['sglang:prompt_tokens_total'],
    prefixHits: ['sglang:cached_tokens_total'],
    prefixHitShare: ['sglang:cache_hit_rate'],
    acceptedShare: ['sglang:spec_accept_rate'],
  },
};
const tensorrt: Counters = {
  format: 'iterations',
  path: '/metrics',
  names: {
    running: ['numActiveRequests'],
    waiting: ['numQueuedRequests'],
    kvUseShare: ['kvCacheStats.usedNumBlocks/kvCacheStats.maxNumBlocks'],
    prefixQueries: ['kvCacheStats.reusedBlocks+kvCacheStats.missedBlocks'],
    prefixHits: ['kvCacheStats.reusedBlocks'],
    preemptions: ['inflightBatchingStats.numPausedRequests'],
    draftTokens: ['specDecodingStats.numDraftTokens'],
    acceptedTokens: ['specDecodingStats.numAcceptedTokens'],
  },
};

/** The body of a recorded answer. */
function recorded(engine: 'vllm-0.25.1' | 'sglang-0.5.11', name: string): string {
  const text = readFileSync(join(import.meta.dirname, '../fixtures/engines', engine, `metrics-${name}.txt`), 'utf8');
  return text.startsWith('HTTP/') ? text.slice(text.indexOf('\n\n') + 2) : text;
}

type Answer = (response: ServerResponse) => void;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server that answers with one after the other, then always with the last. */
async function serve(...answers: (string | Answer)[]): Promise<{ url: URL; most(): number; asked(): number }> {
  let asked = 0;
  let open = 0;
  let most = 0;
  const server = createServer((_, response) => {
    most = Math.max(most, ++open);
    response.once('close', () => open--);
    const answer = answers[Math.min(asked++, answers.length - 1)] as string | Answer;
    if (typeof answer === 'string') response.end(answer);
    else answer(response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: new URL(`http://127.0.0.1:${address.port}`), most: () => most, asked: () => asked };
}

const readFrom = async (counters: Counters, ...answers: (string | Answer)[]): Promise<readonly CounterValues[]> =>
  readCounters(counters, (await serve(...answers)).url, never);

describe('reading counters', () => {
  it('of vLLM, as recorded', async () => {
    expect(await readFrom(vllm, recorded('vllm-0.25.1', 'during-load'))).toEqual([
      {
        running: 137,
        waiting: 0,
        kvUseShare: 0.009562457387840895,
        preemptions: 0,
        prefixQueries: 200_708,
        prefixHits: 992,
      },
    ]);
    expect(await readFrom(vllm, recorded('vllm-0.25.1', 'after-start-14b'))).toMatchObject([
      { preemptions: 3, prefixQueries: 1_342_480, prefixHits: 39_856 },
    ]);
  });

  it('of SGLang, as recorded', async () => {
    expect(await readFrom(sglang, recorded('sglang-0.5.11', 'during-load'))).toEqual([
      {
        running: 400,
        waiting: 0,
        kvUseShare: 0.027227526209963635,
        prefixQueries: 3093,
        prefixHits: 1052,
        prefixHitShare: 0,
        acceptedShare: 0,
      },
    ]);
    expect(await readFrom(sglang, recorded('sglang-0.5.11', 'after-start-14b'))).toMatchObject([{ preemptions: 3 }]);
  });

  it('adds up the copies of an engine, whose fullest cache counts', async () => {
    const text = [0, 1].map(
      (engine) =>
        `vllm:num_requests_running{engine="${engine}"} ${3 + engine}\nvllm:kv_cache_usage_perc{engine="${engine}"} 0.${5 + engine}`,
    );
    expect(await readFrom(vllm, text.join('\n'))).toEqual([{ running: 7, kvUseShare: 0.6 }]);
  });

  it('takes the first name that is there', async () => {
    expect(await readFrom(vllm, 'vllm:gpu_cache_usage_perc 0.25')).toEqual([{ kvUseShare: 0.25 }]);
    expect(await readFrom(vllm, 'vllm:gpu_cache_usage_perc 0.25\nvllm:kv_cache_usage_perc 0.5')).toEqual([
      { kvUseShare: 0.5 },
    ]);
  });

  it('of TensorRT-LLM, one entry an iteration, with sums and quotients', async () => {
    const iterations = [
      {
        numActiveRequests: 4,
        numQueuedRequests: 2,
        kvCacheStats: { usedNumBlocks: 30, maxNumBlocks: 120, reusedBlocks: 5, missedBlocks: 15 },
        specDecodingStats: { numDraftTokens: 12, numAcceptedTokens: 9 },
      },
      { numActiveRequests: 5, kvCacheStats: { usedNumBlocks: 30, maxNumBlocks: 0, reusedBlocks: 6 } },
    ];
    expect(await readFrom(tensorrt, JSON.stringify(iterations))).toEqual([
      {
        running: 4,
        waiting: 2,
        kvUseShare: 0.25,
        prefixQueries: 20,
        prefixHits: 5,
        draftTokens: 12,
        acceptedTokens: 9,
      },
      { running: 5, prefixHits: 6 },
    ]);
    expect(await readFrom(tensorrt, '[]')).toEqual([]);
  });

  it('fails on anything else', async () => {
    await expect(readFrom(tensorrt, '{"a":1}')).rejects.toMatchObject({ code: 'counters_not_told' });
    await expect(readFrom(tensorrt, 'no JSON')).rejects.toMatchObject({ code: 'counters_not_told' });
    await expect(readFrom(vllm, (response) => response.writeHead(404).end())).rejects.toMatchObject({
      code: 'counters_not_told',
      message: expect.stringContaining('404'),
    });
    await expect(readCounters(vllm, new URL('http://127.0.0.1:1'), never)).rejects.toThrow();
  });
});

describe('a summary', () => {
  const scrape = (atS: number, ...values: CounterValues[]): CounterScrape => ({ askedAtS: atS, atS, values });
  const failed = (atS: number): CounterScrape => ({ askedAtS: atS, atS, values: null });
  const window = { fromS: 0.5, toS: 3.5 };

  it('takes gauges inside and counters across the window', () => {
    const scrapes = [
      scrape(0, { running: 90, waiting: 90, kvUseShare: 1, preemptions: 2, prefixQueries: 1000, prefixHits: 900 }),
      scrape(1, { running: 2, waiting: 0, kvUseShare: 0.2, prefixQueries: 1100, prefixHits: 900 }),
      failed(2),
      scrape(3, { running: 4, waiting: 3, kvUseShare: 0.4, prefixQueries: 1300, prefixHits: 950, preemptions: 2 }),
      scrape(4, { running: 0, waiting: 0, kvUseShare: 0, prefixQueries: 1400, prefixHits: 1000, preemptions: 7 }),
      scrape(5, { prefixQueries: 9999, prefixHits: 9999, preemptions: 99 }),
    ];
    expect(counterSummary(scrapes, window, 'prometheus')).toEqual({
      scrapes: 2,
      failedScrapes: 1,
      meanRunning: 3,
      peakRunning: 4,
      meanWaiting: 1.5,
      peakWaiting: 3,
      peakKvUseShare: 0.4,
      preemptions: 5,
      prefixHitRate: 0.25,
      draftAcceptance: null,
    });
  });

  it('of the recorded load: nothing of the cache, though it had hits before', async () => {
    for (const [engine, counters] of [
      ['vllm-0.25.1', vllm],
      ['sglang-0.5.11', sglang],
    ] as const) {
      const [before, during, after] = await Promise.all(
        ['before-load', 'during-load', 'after-load'].map((name) => readFrom(counters, recorded(engine, name))),
      );
      const scrapes = [before, during, after].map((values, i) => scrape(i * 2, ...(values ?? [])));
      const summary = counterSummary(scrapes, window, 'prometheus');
      expect(summary).toMatchObject({ scrapes: 1, prefixHitRate: 0, draftAcceptance: null });
      expect(summary.peakRunning).toBeGreaterThan(100);
      // SGLang has that counter only once something was retracted.
      expect(summary.preemptions).toBe(engine === 'vllm-0.25.1' ? 0 : null);
    }
  });

  it('begins a counter at 0 that appears during the load', () => {
    const scrapes = [scrape(0, { running: 0 }), scrape(4, { running: 0, preemptions: 3 })];
    expect(counterSummary(scrapes, window, 'prometheus').preemptions).toBe(3);
  });

  it('does not count across a restart, nor from one scrape', () => {
    const backwards = [scrape(0, { preemptions: 5 }), scrape(4, { preemptions: 1 })];
    expect(counterSummary(backwards, window, 'prometheus').preemptions).toBeNull();
    expect(counterSummary([scrape(1, { preemptions: 5 })], window, 'prometheus').preemptions).toBeNull();
    expect(counterSummary([failed(1)], window, 'prometheus')).toMatchObject({ failedScrapes: 1, meanRunning: null });
  });

  it('takes shares where an engine tells nothing else', () => {
    const scrapes = [
      scrape(1, { prefixHitShare: 0.5, acceptedShare: 0.75 }),
      scrape(2, { prefixHitShare: 0.1, acceptedShare: 0 }),
    ];
    expect(counterSummary(scrapes, window, 'prometheus')).toMatchObject({ prefixHitRate: 0.3, draftAcceptance: 0.75 });
    const drafts = [
      scrape(0, { draftTokens: 10, acceptedTokens: 10 }),
      scrape(4, { draftTokens: 110, acceptedTokens: 70 }),
    ];
    expect(counterSummary(drafts, window, 'prometheus').draftAcceptance).toBe(0.6);
  });

  it('weighs iterations by the scrape that brought them, and adds up what is counted by iteration', () => {
    const scrapes = [
      scrape(0, { draftTokens: 500, acceptedTokens: 0, prefixQueries: 10, prefixHits: 10 }),
      scrape(1, { running: 8, draftTokens: 10, acceptedTokens: 5, preemptions: 1 }, { running: 4, preemptions: 0 }),
      scrape(2),
      scrape(3, { running: 2, preemptions: 2, draftTokens: 30, acceptedTokens: 25, prefixQueries: 50, prefixHits: 20 }),
    ];
    expect(counterSummary(scrapes, window, 'iterations')).toMatchObject({
      scrapes: 3,
      meanRunning: 4,
      peakRunning: 8,
      preemptions: 3,
      draftAcceptance: 0.75,
      prefixHitRate: 0.25,
    });
  });
});

describe('watching', () => {
  const told = (running: number, queries: number): string =>
    `vllm:num_requests_running ${running}\nvllm:prefix_cache_queries_total ${queries}\nvllm:prefix_cache_hits_total 10\n`;

  it('reads before, during and after', async () => {
    const server = await serve(told(99, 10), told(3, 20), told(5, 30), told(0, 50));
    const watch = await watchCounters(vllm, server.url, never, { everyS: 0.2 });
    expect(server.asked()).toBe(1);
    await eventually(() => watch.scrapes.length === 3);
    const summary = await watch.finish();
    expect(summary).toMatchObject({ scrapes: 2, meanRunning: 4, peakRunning: 5, prefixHitRate: 0, failedScrapes: 0 });
    expect(await watch.finish()).toEqual(summary);
    expect(server.asked()).toBe(4);
    await sleepMs(300);
    expect(server.asked()).toBe(4);
  });

  it('has gaps where the engine does not answer, and never asks twice at a time', async () => {
    const hang: Answer = () => undefined;
    const refuse: Answer = (response) => response.writeHead(500).end();
    const server = await serve(told(1, 1), hang, refuse, told(2, 2));
    const watch = await watchCounters(vllm, server.url, never, { everyS: 0.05, timeoutS: 0.3 });
    await eventually(() => watch.scrapes.length >= 4);
    const summary = await watch.finish();
    expect(summary.failedScrapes).toBe(2);
    expect(summary.peakRunning).toBe(2);
    expect(server.most()).toBe(1);
  });

  it('tells nothing of an engine that is not there, and is no error', async () => {
    const watch = await watchCounters(vllm, new URL('http://127.0.0.1:1'), never, { everyS: 0.05 });
    await eventually(() => watch.scrapes.length >= 2);
    expect(await watch.finish()).toMatchObject({ scrapes: 0, meanRunning: null, prefixHitRate: null });
  });

  it('ends with the signal, in the middle of an answer', async () => {
    const stop = new AbortController();
    const server = await serve(told(1, 1), () => undefined);
    const watch = await watchCounters(vllm, server.url, stop.signal, { everyS: 0.05, timeoutS: 30 });
    await eventually(() => server.asked() === 2);
    stop.abort();
    expect(await watch.finish()).toMatchObject({ scrapes: 0 });
    expect(watch.scrapes).toHaveLength(1);
    expect(server.asked()).toBe(2);
  });
});
