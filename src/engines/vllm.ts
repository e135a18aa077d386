import { z } from 'zod';
import { boundedAnswer } from '../kit/bounded-answer.ts';
import { InputError, ServetuneError } from '../kit/errors.ts';
import { checkpointOf, isCheckpoint } from './checkpoints.ts';
import { cacheNotReset, defineEngine, type Launch, resetTimeoutS } from './engine.ts';
import { say } from './mapping.ts';
import { extraArgs } from './rules.ts';
import { compileCache, counters, settingsInLog, settingsInText, startParts } from './vllm/log.ts';
import { conflicts } from './vllm/needs.ts';
import { mapping, settings } from './vllm/settings.ts';
import { defaultStages } from './vllm/stages.ts';
import { symptoms } from './vllm/symptoms.ts';

/** It imports PyTorch before it answers, from a cold disk. */
const versionTimeoutS = 120;

/** vLLM's OpenAI server. */
export const vllm = defineEngine({
  name: 'vllm',
  description: 'vLLM, as `vllm` on PATH, of one environment (python), through uv or in its container',
  settings,
  mapping,
  conflicts,
  symptoms,
  counters,
  startParts,
  compileCache,
  settingsInLog,
  defaultStages,
  healthPath: '/health',
  help: ['vllm', 'serve', '--help=all'],
  packages: (version) => [`vllm==${version}`],
  image: (version) => `vllm/vllm-openai:v${version}`,

  async version(ask) {
    const result = await ask(['vllm', '--version'], versionTimeoutS);
    const version = result.code === 0 ? /\d+\.\d+[\w.+]*/.exec(result.stdout + result.stderr)?.[0] : undefined;
    if (version !== undefined) return version;
    const said = result.timedOut
      ? `no answer in ${versionTimeoutS} s`
      : result.stderr.trim().split('\n').at(-1) || 'it printed nothing';
    throw new InputError([
      {
        place: '`vllm --version`',
        message: `did not tell a version: ${said}`,
        hint: 'install it: uv pip install vllm',
      },
    ]);
  },

  // Hugging Face names are resolved by vLLM itself.
  checkModel: async () => [],
  checkpoint: (model, { quantization }) => checkpointOf(model, quantization),

  command({ model, port, settings: chosen, version }: Launch) {
    const { quantization, ...others } = chosen;
    const { argv, env } = say(mapping, isCheckpoint(quantization) ? others : chosen, version);
    const served = ['vllm', 'serve', checkpointOf(model, quantization), '--host', '127.0.0.1', '--port', String(port)];
    return { argv: [...served, ...argv, ...extraArgs(chosen)], env };
  },

  // The variable opens the route that resetCache uses; cached tokens are then told with each answer.
  measuring: () => ({
    argv: ['--enable-prompt-tokens-details'],
    env: { VLLM_SERVER_DEV_MODE: '1', VLLM_NO_USAGE_STATS: '1', DO_NOT_TRACK: '1' },
  }),

  /**
   * Asks only that the route is there and answers: whether blocks that are in use kept their prefixes, vLLM tells in its
   * log alone. Nothing is in use between two loads.
   */
  async resetCache(baseUrl, signal) {
    const url = new URL('/reset_prefix_cache', baseUrl);
    const answer = await boundedAnswer(url, signal, { method: 'POST', timeoutS: resetTimeoutS });
    if (!answer.ok) throw cacheNotReset(url, answer, 'see the log of vLLM; releases without this route cannot be used');
  },

  async effectiveSettings(baseUrl, signal) {
    const url = new URL('/server_info', baseUrl);
    const { ok, status, text } = await boundedAnswer(url, signal);
    if (!ok) throw new ServetuneError('no_effective_settings', `${url} answered ${status}`);
    return settingsInText(z.object({ vllm_config: z.string() }).parse(JSON.parse(text)).vllm_config);
  },
});
