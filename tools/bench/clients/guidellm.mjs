import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPython } from './find.mjs';

/** GuideLLM. Its ITL is one mean a request, so its percentiles are no percentiles of gaps, and none is taken over. */
export const guidellm = {
  name: 'guidellm',
  flag: 'guidellm',
  install: 'uv tool install "guidellm[perf]", or --guidellm PATH/TO/bin/guidellm',
  find: (path) => findPython('guidellm', path),
  env: { HF_HUB_OFFLINE: '1' },

  command: ({ program, url, model, requests, tokens, promptTokens, tokenizer, dir }) => [
    ...[program, 'run', '--disable-console-interactive'],
    ...['--backend', `kind=openai_http,target=${url},model=${model},request_format=/v1/chat/completions`],
    ...['--profile', `kind=throughput,max_concurrency=${requests}`],
    ...['--constraint', `kind=max_requests,count=${requests}`, '--tokenizer', `kind=hf_auto,model=${tokenizer}`],
    ...['--data', `kind=synthetic_text,prompt_tokens=${promptTokens},output_tokens=${tokens}`],
    ...['--metrics', 'kind=generative,sample_size=0', '--output', `kind=json,path=${join(dir, 'result.json')}`],
  ],

  read(dir) {
    const [{ metrics, duration, warnings }] = JSON.parse(readFileSync(join(dir, 'result.json'), 'utf8')).benchmarks;
    return {
      ok: metrics.request_totals.successful,
      ttftMeanS: metrics.time_to_first_token_ms.successful.mean / 1000,
      itlP99S: null,
      durationS: duration,
      verdict: warnings.length === 0 ? 'ok' : 'warns',
      reason: warnings.map(({ message }) => message).join(' ') || undefined,
    };
  },
};
