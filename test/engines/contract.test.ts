import { expect, it } from 'vitest';
import { embedded } from '../../src/engines/embedded.ts';
import { engines } from '../../src/engines/table.ts';
import { engineContract } from '../contracts/engine.ts';

// The others are held to the contract beside their own tests.
engineContract(embedded, {
  quantization: 'q8_0',
  attention_backend: 'plain',
  threads: 1,
  max_running_requests: 7,
  max_batched_tokens: 333,
  kv_cache_dtype: 'q8_0',
  context_length: 777,
});

it('every engine has a name of its own', () => {
  expect(new Set(engines.map(({ name }) => name)).size).toBe(engines.length);
});
