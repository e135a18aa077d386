import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPython } from './find.mjs';

/** `vllm bench serve`. It does not judge its own figures. */
export const vllm = {
  name: 'vllm',
  flag: 'vllm',
  install: 'tools/bench/README.md says how to install vLLM without a GPU; then --vllm PATH/TO/bin/vllm',
  find: (path) => findPython('vllm', path),
  env: { HF_HUB_OFFLINE: '1' },

  command: ({ program, url, model, requests, tokens, promptTokens, tokenizer, dir }) => [
    ...[program, 'bench', 'serve', '--backend', 'openai-chat', '--endpoint', '/v1/chat/completions'],
    ...['--base-url', url, '--model', model, '--tokenizer', tokenizer, '--dataset-name', 'random'],
    ...['--random-input-len', String(promptTokens), '--random-output-len', String(tokens)],
    ...['--num-prompts', String(requests), '--disable-tqdm', '--percentile-metrics', 'ttft,tpot,itl'],
    ...['--metric-percentiles', '99', '--save-result', '--result-dir', dir, '--result-filename', 'result.json'],
  ],

  read(dir) {
    const result = JSON.parse(readFileSync(join(dir, 'result.json'), 'utf8'));
    return {
      ok: result.completed,
      ttftMeanS: result.mean_ttft_ms / 1000,
      itlP99S: result.p99_itl_ms / 1000,
      durationS: result.duration,
      verdict: null,
    };
  },
};
