import { z } from 'zod';
import { fetchDataset, type PublishedName, published } from '../datasets/kept/fetch.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { exitCodes } from '../kit/errors.ts';
import { formatBytes, formatShare } from '../kit/words.ts';
import { defineCommand } from './command.ts';

const names = Object.keys(published) as [PublishedName, ...PublishedName[]];

export default defineCommand({
  name: 'dataset fetch',
  about: [
    'Downloads a data set once, into the cache (SERVETUNE_CACHE, else ~/.cache/servetune); `--dataset-name sharegpt`',
    'without --dataset-path takes it from there. A download that broke off goes on where it stopped. The file must have',
    'the hash that is known of it. Prints its path. HF_ENDPOINT names a mirror of huggingface.co.',
  ].join('\n'),
  positional: { key: 'name', label: 'NAME', optional: false },
  options: z.strictObject({
    name: z.enum(names).describe(`Data set: ${names.join(', ')}`),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Another address of the file; its hash is then recorded and not known beforehand'),
    verify: z.boolean().default(false).describe('Read a file that is here already as a whole, and compare its hash'),
  }),
  examples: [
    ['servetune dataset fetch sharegpt', 'the conversations that everybody measures with, 642 MiB'],
    ['servetune dataset fetch sharegpt --verify', 'check that the file is still what was downloaded'],
  ],

  async run({ name, url, verify }, terminal) {
    const { environment, signal } = terminal;
    const { licence, sha256: known } = published[name];
    terminal.note(`licence: ${licence}`);
    const found = await fetchDataset(name, {
      cacheDir: defaultCacheDir(environment),
      url,
      endpoint: environment.HF_ENDPOINT,
      environment,
      verify,
      signal,
      onProgress: (bytes, total) => terminal.status(`downloading ${name}  ${progressText(bytes, total)}`),
    });
    terminal.status('');
    const state = found.fresh ? 'downloaded' : verify ? 'here already, verified' : 'here already';
    terminal.note(`${state}: ${formatBytes(found.bytes, 'en')}, sha256 ${found.sha256}`);
    if (!found.original) {
      terminal.note(`warning: this is not the file that others measure with, whose sha256 is ${known}`);
    }
    terminal.print(found.path);
    return exitCodes.done;
  },
});

const progressText = (bytes: number, total: number | null): string =>
  total === null
    ? formatBytes(bytes, 'en')
    : `${formatBytes(bytes, 'en')} of ${formatBytes(total, 'en')}, ${formatShare(bytes / total, 'en')}`;
