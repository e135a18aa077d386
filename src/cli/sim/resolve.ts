import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { engines } from '../../engines/table.ts';
import { gpuNamed, gpus, type Hardware } from '../../hardware/gpus.ts';
import { type CompleteShape, completeShape } from '../../hardware/model.ts';
import { modelNamed } from '../../hardware/models.ts';
import { InputError, type Problem } from '../../kit/errors.ts';
import type { Configuration, Settings } from '../../records/settings.ts';
import { type Deployment, type Simulable, simulable } from '../../simulator/deployment.ts';
import type { Parameters } from '../../simulator/parameters.ts';
import { schedulers } from '../../simulator/scheduler/table.ts';
import { type Failure, readFailures } from '../../simulator/serving/failures.ts';
import { contextOf, type SimulatedServing } from '../../simulator/serving/serve.ts';
import { readCalibration } from '../../study/predict/calibration.ts';
import { bundledModel, bundledTokenizer } from '../../tokenizers/bundled.ts';
import { chooseTokenizer } from '../../tokenizers/choose.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import { modelShape } from '../../weights/shape.ts';
import { readSettings } from './settings.ts';

export const simulatedEngines: readonly string[] = schedulers.map(({ name }) => name);

/** Options of `sim serve`, each as its schema has it. */
export interface SimOptions {
  readonly model: string;
  readonly engine: string;
  readonly gpu: string;
  readonly gpus?: number | undefined;
  readonly setting: readonly string[];
  readonly acceptance: number;
  readonly calibration?: string | undefined;
  readonly time_scale: number;
  readonly seed: number;
  readonly tokenizer?: string | undefined;
  readonly served_model_name?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly fail: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the options come to: everything looked up, and checked as the engine itself would check it. Throws one
 * InputError with all that is wrong.
 */
export async function resolveSim(
  options: SimOptions,
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly serving: SimulatedServing; readonly notes: readonly string[] }> {
  const problems: Problem[] = [];
  /** The value of a part, or null and its problems noted. */
  const attempt = async <T>(part: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await part();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...error.problems);
      return null;
    }
  };
  const shape = await attempt(() => shapeOf(options.model, environment, signal));
  const hardware = await attempt(() => hardwareOf(options.gpu));
  const configuration = await attempt(() => configurationOf(options, shape));
  const failures = await attempt(() => readFailures(options.fail, '--fail'));
  const tokenizer = await attempt(() => tokenizerOf(options, environment, signal));
  const parameters = await attempt(() =>
    options.calibration === undefined ? {} : readCalibration(options.calibration).parameters,
  );
  if (shape !== null && hardware !== null && configuration !== null && parameters !== null) {
    const deployment = { configuration, shape, hardware, acceptance: options.acceptance };
    const worked = await attempt(() => workedOut(deployment, parameters));
    if (worked !== null && failures !== null && problems.length === 0) {
      return servingOf(options, { deployment, simulable: worked, failures, tokenizer });
    }
  }
  throw new InputError(problems);
}

function servingOf(
  options: SimOptions,
  {
    deployment,
    simulable,
    failures,
    tokenizer,
  }: {
    readonly deployment: Deployment;
    readonly simulable: Simulable;
    readonly failures: readonly Failure[];
    readonly tokenizer: Tokenizer | null;
  },
): { readonly serving: SimulatedServing; readonly notes: readonly string[] } {
  const { model, time_scale: timeScale, seed, host, port, calibration } = options;
  const name = existsSync(model) ? basename(model) : model;
  return {
    serving: {
      deployment,
      simulable,
      model,
      servedModelName: options.served_model_name ?? name,
      tokenizer,
      timeScale,
      seed,
      host,
      port,
      failures,
    },
    notes: [
      calibration === undefined
        ? 'uncalibrated: throughput +-25 %, latencies are not promised'
        : `calibrated by ${calibration}`,
      `KV cache of ${simulable.spec.options.kvTokens} tokens; a request may have ${contextOf(deployment, simulable)}`,
      tokenizer === null
        ? 'prompt tokens are guessed by words: name the model’s tokenizer with --tokenizer to have them counted'
        : `prompt tokens are counted with ${tokenizer.name}`,
      ...(simulable.notModelled.length === 0 ? [] : [`not modelled: ${simulable.notModelled.join(', ')}`]),
    ],
  };
}

async function shapeOf(model: string, environment: Environment, signal: AbortSignal): Promise<CompleteShape> {
  const here = existsSync(model);
  const found = here ? null : (modelNamed(model)?.shape ?? null);
  const shape = found ?? (await modelShape(model, environment, signal));
  const complete = shape && completeShape(shape);
  if (complete) return complete;
  throw new InputError([
    {
      place: '--model',
      message: here
        ? `${model} has no config.json that tells the shape of a language model`
        : `the shape of ${model} is not known, and its config.json cannot be had`,
      hint: 'give the name of a well-known model (Qwen/Qwen3-14B), or a folder with a config.json of Hugging Face’s format',
    },
  ]);
}

function hardwareOf(name: string): Hardware {
  const found = gpuNamed(name);
  if (found !== null) return found;
  const known = gpus.map((gpu) => gpu.name).join(', ');
  throw new InputError([{ place: '--gpu', message: `there are no figures of “${name}”`, hint: `known: ${known}` }]);
}

function configurationOf(options: SimOptions, shape: CompleteShape | null): Configuration {
  const [name = '', version, ...rest] = options.engine.split('@');
  const engine = engines.find((one) => one.name === name);
  if (engine === undefined || !simulatedEngines.includes(name) || version === '' || rest.length > 0) {
    throw new InputError([
      {
        place: '--engine',
        message: `“${options.engine}” cannot be simulated`,
        hint: `one of ${simulatedEngines.join(', ')}, with a version if it matters: vllm@0.11.0`,
      },
    ]);
  }
  const facts = {
    model: options.model,
    concurrency: 1,
    ...(version === undefined ? {} : { version }),
    ...(shape === null ? {} : { shape }),
  };
  const settings = onGpus(readSettings(engine, options.setting, facts), options.gpus);
  return { engine: name, ...(version === undefined ? {} : { version }), settings };
}

const parallel = ['tensor_parallel', 'pipeline_parallel', 'data_parallel'] as const;

/** Settings on so many GPUs, which serve one copy of the model where nothing else is said. */
function onGpus(settings: Settings, count: number | undefined): Settings {
  if (count === undefined) return settings;
  const said = parallel.filter((name) => settings[name] !== undefined);
  if (said.length === 0) return count === 1 ? settings : { ...settings, tensor_parallel: count };
  const needed = said.reduce((product, name) => product * Number(settings[name]), 1);
  if (needed <= count) return settings;
  throw new InputError([
    {
      place: '--gpus',
      message: `${said.join(' x ')} needs ${needed} GPUs`,
      hint: `at least ${needed}, or lower a setting`,
    },
  ]);
}

/** The named one, else the model's own where it lies here; null where there is none, and tokens have to be guessed. */
async function tokenizerOf(
  { model, tokenizer: path }: SimOptions,
  env: Environment,
  signal: AbortSignal,
): Promise<Tokenizer | null> {
  if (path === bundledModel && !existsSync(path)) return bundledTokenizer();
  const { tokenizer, note } = await chooseTokenizer({ model, path, env, signal });
  return note === undefined ? tokenizer : null;
}

/** The deployment worked out; refused where the engine itself would not start. */
function workedOut(deployment: Deployment, parameters: Parameters): Simulable {
  const found = simulable(deployment, parameters);
  const reason = typeof found === 'string' ? found : found.fit.reason;
  if (typeof found !== 'string' && reason === null) return found;
  throw new InputError([
    {
      place: '--setting',
      message: `${deployment.configuration.engine} would not start: ${reason}`,
      hint: 'lower context_length or max_batched_tokens, quantize the weights or the KV cache, or take more or larger GPUs',
    },
  ]);
}
