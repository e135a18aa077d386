import { serveOptions } from '../engines/embedded/options.ts';
import { serveEmbedded } from '../engines/embedded/serve.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { exitCodes } from '../kit/errors.ts';
import { defineCommand } from './command.ts';

/** How long work in native threads may go on after the server stopped, milliseconds. */
const lingerMs = 200;

export default defineCommand({
  name: 'serve',
  about: [
    'The engine that `tune` starts under the name `embedded`. It speaks the OpenAI API: /v1/chat/completions,',
    '/v1/completions, /v1/models, /health, /version, /tokenize, /metrics.',
  ].join('\n'),
  options: serveOptions,
  groups: [
    { title: 'Model and address', keys: ['model', 'quantization', 'host', 'port'] },
    { title: 'Speed', keys: ['threads', 'parallel', 'batch_size', 'flash_attn', 'cache_type', 'context_length'] },
  ],
  examples: [
    ['servetune serve --model tiny-qwen3 --port 8000', 'a model of random weights, made on first use'],
    ['servetune serve --model model.gguf --parallel 16', 'a model of your own'],
  ],

  async run(options, terminal) {
    const { environment: env, signal } = terminal;
    try {
      await serveEmbedded(options, { signal, log: terminal.note, cacheDir: defaultCacheDir(env), env });
    } finally {
      // A load or a step that is under way in a native thread would hold the process.
      setTimeout(() => process.exit(), lingerMs).unref();
    }
    // Being told to stop is how a server ends well.
    return exitCodes.done;
  },
});
