import { z } from 'zod';
import { boundedAnswer } from '../kit/bounded-answer.ts';
import { now, sleep } from '../kit/clock.ts';
import { InputError, ServetuneError } from '../kit/errors.ts';
import { compareVersions } from '../kit/versions.ts';
import type { Settings } from '../records/settings.ts';
import { checkpointOf, isCheckpoint } from './checkpoints.ts';
import { cacheNotReset, defineEngine, type Launch, resetTimeoutS } from './engine.ts';
import { type Said, say } from './mapping.ts';
import { extraArgs } from './rules.ts';
import { counters, effective, settingsInLog, startParts } from './sglang/log.ts';
import { conflicts } from './sglang/needs.ts';
import { mapping, ngramMapping, settings } from './sglang/settings.ts';
import { defaultStages } from './sglang/stages.ts';
import { symptoms } from './sglang/symptoms.ts';

/** Reads the package's own record: importing SGLang takes ten seconds, and PyTorch with it. */
const versionCommand = ['python3', '-c', "import importlib.metadata as m; print(m.version('sglang'))"];
const versionTimeoutS = 60;

/** Longest that requests which nobody waits for any more may hold the cache, seconds. */
const idleTimeoutS = 5;

/** SGLang's server. */
export const sglang = defineEngine({
  name: 'sglang',
  description:
    'SGLang, as `python3 -m sglang.launch_server`, of one environment (python), through uv or in its container',
  settings,
  mapping,
  conflicts,
  symptoms,
  counters,
  startParts,
  settingsInLog,
  defaultStages,
  // Answers 503 until its own first request is through; its model list answers before.
  healthPath: '/health',
  help: ['python3', '-m', 'sglang.launch_server', '--help'],
  // From 0.5.3 at the latest the server is part of the package itself; what `all` adds since then is for images.
  packages: (version) => [compareVersions(version, '0.5.3') < 0 ? `sglang[all]==${version}` : `sglang==${version}`],
  image: (version) => `lmsysorg/sglang:v${version}`,

  async version(ask) {
    const result = await ask(versionCommand, versionTimeoutS);
    const version = result.code === 0 ? /^\d+\.\d+[\w.+]*$/m.exec(result.stdout)?.[0] : undefined;
    if (version !== undefined) return version;
    const said = result.timedOut
      ? `no answer in ${versionTimeoutS} s`
      : result.stderr.trim().split('\n').at(-1) || 'it printed nothing';
    throw new InputError([
      {
        place: '`python3 -c "import importlib.metadata ..."`',
        message: `found no SGLang: ${said}`,
        hint: 'install it: uv pip install sglang, or name the interpreter that has it (python)',
      },
    ]);
  },

  // Hugging Face names are resolved by SGLang itself.
  checkModel: async () => [],
  checkpoint: (model, { quantization }) => checkpointOf(model, quantization),

  command({ model, port, settings: chosen, version }: Launch) {
    const { argv, env } = saidBy(chosen, version);
    const program = ['python3', '-m', 'sglang.launch_server', '--model-path', checkpointOf(model, chosen.quantization)];
    return { argv: [...program, '--host', '127.0.0.1', '--port', String(port), ...argv, ...extraArgs(chosen)], env };
  },

  measuring: () => ({ argv: ['--enable-metrics', '--enable-cache-report'], env: {} }),

  /** Refused while requests run; those that a client has just left end a moment later, and are waited for. */
  async resetCache(baseUrl, signal) {
    const url = new URL('/flush_cache', baseUrl);
    for (const begin = now(); ; ) {
      const answer = await boundedAnswer(url, signal, { method: 'POST', timeoutS: resetTimeoutS });
      if (answer.ok) return;
      if (answer.status !== 400 || now() - begin > idleTimeoutS) {
        throw cacheNotReset(url, answer, 'SGLang does not do it while requests run or wait: see its log');
      }
      await sleep(0.2, signal);
    }
  },

  async effectiveSettings(baseUrl, signal) {
    let url = new URL('/server_info', baseUrl);
    let answer = await boundedAnswer(url, signal);
    if (answer.status === 404) {
      url = new URL('/get_server_info', baseUrl); // its name before
      answer = await boundedAnswer(url, signal);
    }
    if (!answer.ok) throw new ServetuneError('no_effective_settings', `${url} answered ${answer.status}`);
    const told = z.record(z.string(), z.unknown()).parse(JSON.parse(answer.text));
    const known = effective.filter((name) => told[name] !== undefined && told[name] !== null);
    return Object.fromEntries(known.map((name) => [name, String(told[name])]));
  },
});

/** Settings whose words depend on other settings get them here; the rest says the mapping. */
function saidBy(chosen: Settings, version: string | undefined): Said {
  const { quantization, expert_parallel: spread, ...others } = chosen;
  const resolved: Settings = {
    ...others,
    ...(quantization === undefined || isCheckpoint(quantization) ? {} : { quantization }),
    ...(spread === true ? { expert_parallel: chosen.tensor_parallel ?? 1 } : {}),
  };
  return say(chosen.speculative_method === 'ngram' ? ngramMapping : mapping, resolved, version);
}
