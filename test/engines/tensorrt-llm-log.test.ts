import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tensorrtLlm } from '../../src/engines/tensorrt-llm.ts';
import type { Counters } from '../../src/records/counters.ts';
import { classify } from '../../src/study/failure.ts';
import { readCounters } from '../../src/telemetry/counters.ts';

const recorded = resolve(import.meta.dirname, '../fixtures/engines/tensorrt-llm/start-1.1.0rc3.log');

describe('the log of TensorRT-LLM', () => {
  const log = readFileSync(recorded, 'utf8').trim().split('\n');

  it('tells what it decided, the last word of each', () => {
    expect(tensorrtLlm.settingsInLog?.(log)).toEqual({
      attention_backend: 'trtllm',
      kv_cache_dtype: 'auto',
      kv_cache_gib: '5.95',
      kv_cache_tokens: '86720',
      kv_block_size: '32',
      context_length: '86720',
      max_batched_tokens: '8192',
      max_running_requests: '64',
    });
  });

  it('shows the parts of a start in their order', () => {
    const parts = log.flatMap((line) => tensorrtLlm.startParts?.find(({ pattern }) => pattern.test(line))?.part ?? []);
    expect([...new Set(parts)]).toEqual(['loading', 'compiling', 'capturing']);
  });

  it('has nothing wrong in a good start', () => {
    expect(classify(tensorrtLlm, { fate: 'hung', message: 'quiet' }, log).failure.message).toBe('quiet');
  });

  it.each([
    ['Error: No such option: --tensor_parallel_size', 'unsupported_setting'],
    ["Error: Invalid value for '--max_batch_size': 'x' is not a valid integer.", 'unsupported_setting'],
    ['  Extra inputs are not permitted [type=extra_forbidden, input_value=1, input_type=int]', 'unsupported_setting'],
    ['RuntimeError: Unsupported SM version for FP8 block scaling GEMM', 'unsupported_setting'],
    ["KeyError: 'weight'", 'unsupported_setting'],
    ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB.', 'out_of_memory'],
    ['ValueError: No GPU devices found on the node', 'start_failed'],
    ['RuntimeError: Failed to bind socket to 127.0.0.1:8000: [Errno 98] Address already in use', 'start_failed'],
  ] as const)('gives "%s" the fate %s', (line, fate) => {
    const failure = classify(tensorrtLlm, { fate: 'start_failed', message: 'ended' }, [
      ...log.slice(0, 5),
      line,
      'RuntimeError: Executor worker returned error',
    ]);
    expect(failure.fate).toBe(fate);
    expect(failure.failure.message).toBe(`ended: ${line.trim()}`);
    expect(failure.portTaken ?? false).toBe(line.includes('bind'));
  });
});

describe('the counters of TensorRT-LLM', () => {
  it('are found in an iteration as its documentation shows one', async () => {
    const iteration = {
      gpuMemUsage: 76665782272,
      iter: 154,
      iterLatencyMS: 7.0,
      kvCacheStats: {
        allocNewBlocks: 3126,
        allocTotalBlocks: 3126,
        cacheHitRate: 0.00128,
        freeNumBlocks: 75,
        maxNumBlocks: 100,
        missedBlocks: 3121,
        reusedBlocks: 4,
        tokensPerBlock: 32,
        usedNumBlocks: 25,
      },
      numActiveRequests: 3,
      numQueuedRequests: 2,
      inflightBatchingStats: { numPausedRequests: 1 },
      specDecodingStats: { numDraftTokens: 20, numAcceptedTokens: 15 },
    };
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/metrics' ? 200 : 404;
      response.end(JSON.stringify([iteration]));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const told = readCounters(
      tensorrtLlm.counters as Counters,
      new URL(`http://127.0.0.1:${port}`),
      AbortSignal.timeout(5000),
    );
    expect(await told.finally(() => server.close())).toEqual([
      {
        running: 3,
        waiting: 2,
        kvUseShare: 0.25,
        preemptions: 1,
        prefixQueries: 3125,
        prefixHits: 4,
        prefixHitShare: 0.00128,
        draftTokens: 20,
        acceptedTokens: 15,
      },
    ]);
  });
});
