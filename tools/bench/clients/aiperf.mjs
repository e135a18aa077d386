import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPython } from './find.mjs';

/** AIPerf. Its "inter token latency" is one mean a request; the gaps themselves are its "inter chunk latency". */
export const aiperf = {
  name: 'aiperf',
  flag: 'aiperf',
  install: 'uv tool install aiperf, or --aiperf PATH/TO/bin/aiperf',
  find: (path) => findPython('aiperf', path),

  command: ({ program, url, model, requests, tokens, promptTokens, tokenizer, dir }) => [
    ...[program, 'profile', '--model', model, '--url', url, '--endpoint-type', 'chat', '--streaming'],
    ...['--tokenizer', tokenizer, '--use-server-token-count', '--isl', String(promptTokens), '--isl-stddev', '0'],
    ...['--osl', String(tokens), '--osl-stddev', '0', '--concurrency', String(requests)],
    ...['--request-count', String(requests), '--num-dataset-entries', String(requests), '--random-seed', '0'],
    ...['--ui', 'none', '--no-server-metrics', '--no-gpu-telemetry', '--export-level', 'summary'],
    ...['--artifact-dir', dir],
  ],

  read(dir) {
    const result = JSON.parse(readFileSync(join(dir, 'profile_export_aiperf.json'), 'utf8'));
    return {
      ok: result.request_count.avg,
      ttftMeanS: result.time_to_first_token.avg / 1000,
      itlP99S: result.inter_chunk_latency.p99 / 1000,
      durationS: result.benchmark_duration.avg,
      verdict: null,
    };
  },
};
