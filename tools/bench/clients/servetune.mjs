import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);
const program = fileURLToPath(new URL('bin/servetune.cjs', root));

/** This repository's own client, as it was built. */
export const servetune = {
  name: 'servetune',
  install: 'npm run build',
  find: () => ({ program, version: JSON.parse(readFileSync(new URL('package.json', root), 'utf8')).version }),

  command: ({ url, model, requests, tokens, promptTokens, tokenizer, dir }) => [
    process.execPath,
    ...[program, 'bench', 'serve', '--backend', 'openai-chat', '--base-url', url, '--model', model],
    ...['--tokenizer', tokenizer, '--dataset-name', 'random', '--random-input-len', String(promptTokens)],
    ...['--random-output-len', String(tokens), '--num-prompts', String(requests), '--disable-tqdm'],
    ...['--result-json', join(dir, 'result.json')],
  ],

  read(dir) {
    const { summary, client } = JSON.parse(readFileSync(join(dir, 'result.json'), 'utf8'));
    return {
      ok: summary.ok,
      ttftMeanS: summary.latencies.ttft.mean,
      itlP99S: summary.latencies.itl.percentiles['99'],
      durationS: summary.durationS,
      verdict: client.verdict,
      reason: client.reason,
    };
  },
};
