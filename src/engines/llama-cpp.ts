import { InputError, type Problem } from '../kit/errors.ts';
import { checkModelFile } from './embedded/model/cache.ts';
import { tinyModelName } from './embedded/model/tiny-model.ts';
import { coreCount } from './embedded/options.ts';
import { type Ask, defineEngine } from './engine.ts';
import { versionIn } from './llama-cpp/builds.ts';
import { settingsInLog, startParts, symptoms } from './llama-cpp/log.ts';
import { conflicts } from './llama-cpp/rules.ts';
import { command, mapping, measuring, settings } from './llama-cpp/settings.ts';
import { effectiveSettings } from './llama-cpp/slots.ts';
import { defaultStages } from './llama-cpp/stages.ts';

/**
 * llama.cpp's own server, on GGUF files. Every flag also has a variable `LLAMA_ARG_...`: whoever starts it must keep
 * those of the user's environment away. It has no route that forgets all cached prompts (slots can be erased, the copies
 * in the host's memory cannot), so that loads one after the other need fresh prompts.
 */
export const llamaCpp = defineEngine({
  name: 'llama.cpp',
  description: 'llama.cpp, as `llama-server` on PATH; the model is a GGUF file',
  settings,
  mapping,
  conflicts,
  version,
  help: ['llama-server', '--help'],
  image: (version) => `ghcr.io/ggml-org/llama.cpp:server-cuda-${/^b\d+$/.test(version) ? version : `v${version}`}`,
  checkModel: async (model) => (model === tinyModelName ? [onlyEmbedded(model)] : checkModelFile(model)),
  command,
  measuring,
  silentVariables: /^LLAMA_ARG_/,
  healthPath: '/health',
  effectiveSettings,
  settingsInLog,
  counters: {
    format: 'prometheus',
    path: '/metrics',
    names: {
      running: ['llamacpp:requests_processing'],
      waiting: ['llamacpp:requests_deferred'],
      // Gone since May 2025.
      kvUseShare: ['llamacpp:kv_cache_usage_ratio'],
      // Prompt tokens are counted where they are computed, or where they were found.
      prefixQueries: ['llamacpp:prompt_tokens_total+llamacpp:prompt_tokens_cached_total'],
      prefixHits: ['llamacpp:prompt_tokens_cached_total'],
      draftTokens: ['llamacpp:spec_decode_num_draft_tokens_total'],
      acceptedTokens: ['llamacpp:spec_decode_num_accepted_tokens_total'],
    },
  },
  startParts,
  symptoms,
  defaultStages: (facts) => defaultStages(facts, coreCount()),
});

async function version(ask: Ask): Promise<string> {
  const result = await ask(['llama-server', '--version'], 30);
  // Builds for a GPU name their devices first; older ones print everything to stderr.
  const found = result.code === 0 ? versionIn(`${result.stdout}\n${result.stderr}`) : undefined;
  if (found !== undefined) return found;
  throw new InputError([
    {
      place: '`llama-server --version`',
      message: result.timedOut
        ? 'no answer in 30 s'
        : `did not tell a version: ${`${result.stdout}${result.stderr}`.trim().split('\n').at(-1) || 'it printed nothing'}`,
      hint: 'install llama.cpp: a release of ggml-org/llama.cpp, or brew install llama.cpp',
    },
  ]);
}

const onlyEmbedded = (model: string): Problem => ({
  place: model,
  message: 'only the engine embedded makes that model',
  hint: 'give the path of a .gguf file',
});
