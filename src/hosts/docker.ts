import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { InputError, messageOf, type Problem, ServetuneError } from '../kit/errors.ts';
import { makeFolder } from '../kit/files.ts';
import { findProgram } from '../processes/programs.ts';
import { runToEnd } from '../processes/run.ts';
import { containerOf, type Environment } from './docker/container.ts';
import type { Command, Host, HostedCommand, Place } from './host.ts';

const idFile = 'container.id';
const imageFile = 'container.image';

/** Longest that one command to the engine may take that only looks or removes, seconds. */
const answerTimeoutS = 60;
/** Longest that fetching an image may take, seconds: tens of GB on a slow line. */
const pullTimeoutS = 4 * 3600;

/**
 * Runs the client as its child. What a container is not: a descendant of the client, which the watchdog could end. So
 * when the client is told to end and servetune is not there any more to remove the container (`release`), this does it
 * within the time that the watchdog leaves; and whenever the client is gone, however it went, the container goes.
 */
const script = `
owner=$1 folder=$2 docker=$3 image=$4; shift 4
id=$folder/${idFile}

remove() {
  if [ -s "$id" ]; then "$docker" rm --force "$(cat "$id")" >/dev/null 2>&1; fi
}

owner_lives() {
  kill -0 "$owner" 2>/dev/null || return 1
  case $(cat "/proc/$owner/stat" 2>/dev/null) in *') Z '*) return 1 ;; esac
}

end() {
  told=yes patience=4
  while kill -0 "$client" 2>/dev/null; do
    owner_lives || patience=$((patience - 1))
    if [ "$patience" -le 0 ]; then remove; fi
    sleep 0.2
  done
}

if ! "$docker" image inspect --format '{{json .RepoDigests}} {{.Id}}' "$image" >"$folder/${imageFile}"; then
  echo "servetune: if the image is not on this machine, get it: docker pull $image" >&2
  exit 125
fi
remove
rm -f "$id"
"$@" &
client=$!
trap end TERM
wait "$client"
code=$?
if [ -n "$told" ]; then
  wait "$client"
  code=$?
fi
remove
exit "$code"
`;

/**
 * A container for each start, as the user who runs servetune, so that no cache gets files of root. It lives in the
 * machine's network, and what it shares with the machine has the same path inside and outside.
 */
export const docker: Host = {
  name: 'docker',
  description: 'a container of the engine’s image; needs Docker, and the NVIDIA Container Toolkit where there are GPUs',
  wrap: wrapInDocker,
  shown: shownInDocker,
  async prepare({ image }, environment, signal) {
    if (image !== undefined) await fetchImage(image, environment, signal);
  },
  endLeftIn: endContainerIn,
  ranIn: imageIn,
};

function wrapInDocker({ argv, env }: Command, place: Place): HostedCommand {
  const { client, image } = needs(env, place);
  const folder = place.dir ?? mkdtempSync(join(tmpdir(), 'servetune-docker-'));
  const container = containerOf({ argv, env }, { image, folder, ...(place.gpus ? { gpus: place.gpus } : {}) });
  for (const path of container.made) makeShared(path);
  return {
    argv: [
      ...['/bin/sh', '-c', script, 'servetune', String(process.pid), folder, client, image],
      ...[client, 'run', '--rm', '--init', '--pull', 'never', '--cidfile', join(folder, idFile)],
      ...['--label', `servetune=${folder}`],
      ...container.options,
      ...container.passed.flatMap((key) => ['--env', key]), // by name: a token must not stand on a command line
      ...container.program,
    ],
    env,
    async release() {
      await removeContainer(folder, client, env);
      if (place.dir === undefined) rmSync(folder, { recursive: true, force: true });
    },
    async firstProcess() {
      const id = containerIn(folder);
      if (id === undefined) return undefined;
      const asked = [client, 'container', 'inspect', '--format', '{{.State.Pid}}', id];
      const { code, stdout } = await runToEnd(asked, { env, timeoutS: answerTimeoutS });
      const pid = Number(stdout);
      return code === 0 && Number.isInteger(pid) && pid > 1 ? pid : undefined;
    },
  };
}

/** With the values of the variables that the command itself adds, so that it can be pasted; it runs in this folder. */
function shownInDocker({ argv, env, files }: Command, place: Place, environment: Environment): Command {
  const { image, gpus } = place;
  if (image === undefined) return { argv, env, ...(files ? { files } : {}) };
  const all = { argv, env: { ...environment, ...env } };
  const { options, passed, program } = containerOf(all, {
    image,
    folder: place.dir ?? resolve('.'),
    ...(gpus ? { gpus } : {}),
  });
  const variables = passed.flatMap((key) => ['--env', key in env ? `${key}=${env[key]}` : key]);
  return {
    argv: ['docker', 'run', '--rm', '--init', '--pull', 'never', ...options, ...variables, ...program],
    env: {},
    ...(files ? { files } : {}),
  };
}

function needs(env: Environment, { engine, image }: Place): { readonly client: string; readonly image: string } {
  const problems: Problem[] = [];
  const client = findProgram('docker', env.PATH);
  if (client === null) {
    problems.push({
      place: 'host docker',
      message: 'docker is not installed, or not on PATH',
      hint: 'install Docker (https://docs.docker.com/engine/install/), or use host local or uv',
    });
  }
  if (/^ssh:|^tcp:(?!\/\/(?:127\.|localhost|\[::1\]))/.test(env.DOCKER_HOST ?? '')) {
    problems.push({
      place: 'host docker',
      message: `DOCKER_HOST=${env.DOCKER_HOST} is another machine: its files, ports and GPUs are not those of this one`,
      hint: 'run servetune on that machine',
    });
  }
  if (image === undefined) {
    problems.push({
      place: `engines ${engine}`,
      message: 'no image is known',
      hint: `name the version or the image: {name: ${engine}, version: X.Y.Z, host: docker, image: REPOSITORY:TAG}`,
    });
  }
  if (client === null || image === undefined || problems.length > 0) throw new InputError(problems);
  return { client, image };
}

/** Docker would make a folder that is not there, as root. */
function makeShared(path: string): void {
  try {
    makeFolder(path);
  } catch (error) {
    throw new InputError([
      {
        place: 'host docker',
        message: `${path}, which the container needs, cannot be made: ${messageOf(error)}`,
        hint: 'make it, or name another with HF_HOME or SERVETUNE_CACHE',
      },
    ]);
  }
}

/** The container that was started in a trial's folder, by its whole id, unless it was removed since. */
export function containerIn(dir: string): string | undefined {
  return read(join(dir, idFile)).trim() || undefined;
}

/**
 * The image that the last container of a trial's folder was made of, by digest (`vllm/vllm-openai@sha256:...`), or by
 * its id where it came from no registry.
 */
export function imageIn(dir: string): string | undefined {
  const [digests = '', id] = read(join(dir, imageFile)).trim().split(' ');
  if (id === undefined) return undefined;
  return (JSON.parse(digests) as readonly string[] | null)?.[0] ?? id;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Ends and removes the container that was started in a folder, and forgets it; true if there was one. For what a power
 * cut, or the death of servetune and of its watchdog, left running. Throws a ServetuneError as `release` does:
 * `container_survived`, `program_not_found` without `docker`.
 */
export async function endContainerIn(dir: string, environment: Environment): Promise<boolean> {
  return removeContainer(dir, 'docker', environment);
}

async function removeContainer(folder: string, client: string, env: Environment): Promise<boolean> {
  const id = containerIn(folder);
  if (id !== undefined) {
    const { code, stderr } = await runToEnd([client, 'rm', '--force', id], { env, timeoutS: answerTimeoutS });
    if (code !== 0 && !/No such container|removal of container .* is already in progress/i.test(stderr)) {
      throw new ServetuneError('container_survived', `the container ${id} cannot be removed: ${stderr.trim()}`, {
        hint: `remove it by hand (docker rm --force ${id}), then go on with --resume`,
      });
    }
  }
  rmSync(join(folder, idFile), { force: true });
  return id !== undefined;
}

/**
 * Fetches an image unless it is there, so that no download falls into the time of a start or of a question.
 * Throws a ServetuneError `image_not_fetched` with what Docker said.
 */
export async function fetchImage(image: string, environment: Environment, signal: AbortSignal): Promise<void> {
  const options = { env: environment, signal };
  const known = await runToEnd(['docker', 'image', 'inspect', '--format', '{{.Id}}', image], {
    ...options,
    timeoutS: answerTimeoutS,
  });
  if (known.code === 0) return;
  const pull = await runToEnd(['docker', 'pull', '--quiet', image], { ...options, timeoutS: pullTimeoutS });
  if (pull.code === 0) return;
  const said = pull.timedOut ? `not done after ${pullTimeoutS} s` : pull.stderr.trim();
  throw new ServetuneError('image_not_fetched', `docker cannot pull ${image}: ${said}`, {
    hint: 'check the name, the network and that the Docker engine runs; log in where the registry asks for it',
  });
}
