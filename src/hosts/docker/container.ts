import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { defaultCacheDir } from '../../kit/cache-dir.ts';
import { hubHomeIn } from '../../kit/hub-cache.ts';
import type { Command } from '../host.ts';

export type Environment = Readonly<Record<string, string>>;

/** Variables that engines and the libraries below them read. The rest of a shell's environment stays outside. */
const passedOn =
  /^(?:HF|HUGGING_?FACE|TRANSFORMERS|TOKENIZERS|SAFETENSORS|MODELSCOPE|VLLM|SGLANG|SGL|TRTLLM|TLLM|TENSORRT|LLAMA|GGML|CUDA|NCCL|NVSHMEM|UCX|GLOO|TORCH|TORCHINDUCTOR|TORCHDYNAMO|PYTORCH|TRITON|FLASHINFER|DG|OMP|MKL|RAY)_|^DO_NOT_TRACK$|^(?:https?|all|no)_proxy$/i;
/** Said in another way: `--gpus` chooses, and HF_HOME is made absolute. */
const saidOtherwise = ['CUDA_VISIBLE_DEVICES', 'HF_HOME'];
/** The image's own, below which nothing of this machine may lie; and folders too large to be meant. */
const system = /^\/(?:(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr)(?:\/|$)|(?:home|opt|root|tmp|var)?\/?$)/;

/** What a container is started with. */
export interface Container {
  /** Options of `docker run`, without the variables that are passed on. */
  readonly options: readonly string[];
  /** Names of the variables that are passed on. */
  readonly passed: readonly string[];
  /** Entry point, image and arguments. */
  readonly program: readonly string[];
  /** Folders that are shared and must be there, so that Docker does not make them as root. */
  readonly made: readonly string[];
}

/** What runs a command in an image, with a folder of this machine as its own; `env` is the whole environment. */
export function containerOf(
  { argv, env }: Command,
  { image, folder, gpus }: { readonly image: string; readonly folder: string; readonly gpus?: readonly string[] },
): Container {
  const [name = '', ...args] = argv;
  const hfHome = resolve(hubHomeIn(env) ?? join(homedir(), '.cache', 'huggingface'));
  const home = join(defaultCacheDir(env), 'docker', image.replaceAll(/[^\w.-]+/g, '_'));
  const passed = Object.entries(env).filter(
    ([key, value]) =>
      passedOn.test(key) && !saidOtherwise.includes(key) && !(value.startsWith('/') && system.test(value)),
  );
  // Made when they are not there, so that what is put into them outlives the container.
  const caches = passed.flatMap(([key, value]) =>
    key.includes('CACHE') && value.startsWith('/') ? resolve(value) : [],
  );
  const made = [hfHome, home, ...caches];
  const shared = [...made, folder, ...[...args, ...passed.map(([, value]) => value)].flatMap(pathsIn)];
  return {
    made,
    passed: passed.map(([key]) => key),
    program: ['--entrypoint', name, image, ...args],
    options: [
      ...gpuOptions(gpus, env),
      ...['--ipc', 'host', '--network', 'host', '--ulimit', 'stack=67108864'],
      ...(isRootless(env) ? [] : userOptions()),
      ...outermost(shared).flatMap((path) => ['--mount', `type=bind,${csv('source', path)},${csv('target', path)}`]),
      ...['--workdir', folder],
      // PyTorch asks for the user's name, and the image has none for this number.
      ...['--env', `HOME=${home}`, '--env', 'USER=servetune', '--env', 'LOGNAME=servetune'],
      ...['--env', `HF_HOME=${hfHome}`],
      ...('TORCHINDUCTOR_CACHE_DIR' in env
        ? []
        : ['--env', `TORCHINDUCTOR_CACHE_DIR=${join(home, '.cache', 'torchinductor')}`]),
    ],
  };
}

/** The value is CSV for Docker: in quotes of its own, so that the comma does not end it. */
function gpuOptions(gpus: readonly string[] | undefined, env: Environment): readonly string[] {
  const chosen = gpus ?? env.CUDA_VISIBLE_DEVICES?.split(',').filter((device) => device !== '' && device !== '-1');
  if (chosen === undefined) return ['--gpus', 'all'];
  return chosen.length === 0 ? [] : ['--gpus', `"device=${chosen.join(',')}"`];
}

/** The engine's user and groups outside, and locked memory without limit, as NCCL and TensorRT-LLM want it. */
function userOptions(): readonly string[] {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const others = (process.getgroups?.() ?? []).filter((group) => group !== gid);
  return [
    ...['--ulimit', 'memlock=-1', '--user', `${uid}:${gid}`],
    ...others.flatMap((group) => ['--group-add', String(group)]),
  ];
}

/** Where Docker itself runs as the user, root inside is that user outside, and any other number is nobody. */
const isRootless = ({ DOCKER_HOST, DOCKER_CONTEXT }: Environment): boolean =>
  DOCKER_CONTEXT === 'rootless' || (DOCKER_HOST ?? '').startsWith('unix:///run/user/');

/** Absolute paths of this machine in an argument or a value: the whole of it, all after `--flag=`, or strings in JSON. */
function pathsIn(word: string): readonly string[] {
  const whole = /^(?:--?[\w.-]+=)?(\/.*)$/s.exec(word);
  const found = whole ? [whole] : [...word.matchAll(/"(\/[^"]*)"/g)];
  return found.flatMap(([, path = '']) => {
    if (system.test(path) || !existsSync(path)) return [];
    // What is in a snapshot of a Hugging Face cache are links to files beside it.
    return resolve(path.replace(/(\/models--[^/]+)\/snapshots\/.*$/, '$1'));
  });
}

/** Without doubles, and without what lies within another. */
const outermost = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].filter((path) => !paths.some((other) => path.startsWith(other + sep)));

/** A field of `--mount`, in quotes where a comma or a quote in the path would end it. */
const csv = (key: string, path: string): string =>
  /[",]/.test(path) ? `"${key}=${path.replaceAll('"', '""')}"` : `${key}=${path}`;
