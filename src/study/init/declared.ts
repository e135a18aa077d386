import type { Environment } from '../../engines/engine.ts';
import { engines as allEngines } from '../../engines/table.ts';
import { InputError, type Problem, ServetuneError } from '../../kit/errors.ts';
import { formatList } from '../../kit/words.ts';
import { readReference } from '../../weights/reference.ts';
import { hostProblems, isVersion, labelOf } from '../cross-checks.ts';
import { askAt, type DeclaredEngine, engineNamed } from '../places.ts';

/** Engines that serve GGUF files and the model that is made here, and nothing else. */
export const ggufEngines: ReadonlySet<string> = new Set(['embedded', 'llama.cpp']);

/** Engines that a study can start. */
const startable = allEngines.map(({ name }) => name).filter((name) => name !== 'external');

/** Engines as a user asks for them. */
export interface AskedEngines {
  /** `vllm`, `vllm@0.11.0`; none: those that have a python, else those that are installed. */
  readonly named?: readonly string[];
  readonly host?: string;
  /** Interpreters of their environments, as `vllm=/opt/vllm/bin/python`; without the name where there is one engine. */
  readonly pythons?: readonly string[];
}

/** Those that were asked for, or undefined where none was. Throws an InputError with all that is wrong. */
export function askedEngines({
  named,
  host = 'local',
  pythons = [],
}: AskedEngines): readonly DeclaredEngine[] | undefined {
  const problems: Problem[] = [];
  const paths = pythons.map((text) => {
    const [, label, path = text] = /^([^=/]+)=(.*)$/.exec(text) ?? [];
    if (path === '') problems.push({ place: '--python', message: `${text} names no interpreter`, hint: pythonHint });
    return { label, path };
  });
  const labels = named ?? (paths.length > 0 ? paths.flatMap(({ label }) => label ?? []) : undefined);
  if (labels === undefined) return undefined;
  if (labels.length === 0) {
    problems.push({ place: '--engines', message: 'names no engine', hint: `for example --engines ${startable[0]}` });
  }
  if (paths.length > 0 && host === 'docker') {
    problems.push({ place: '--python', message: 'means nothing to host docker', hint: 'leave one of the two out' });
  }
  const declared = labels.map((text): DeclaredEngine => {
    const cut = text.indexOf('@');
    const [name, version] = cut < 0 ? [text, undefined] : [text.slice(0, cut), text.slice(cut + 1)];
    problems.push(...entryProblems(name, version, host));
    const own = paths.find(
      ({ label }) => label === text || label === name || (label === undefined && labels.length === 1),
    );
    return {
      name,
      host,
      ...(version === undefined ? {} : { version }),
      ...(own === undefined ? {} : { python: own.path }),
    };
  });
  const all = declared.map(labelOf);
  for (const twice of new Set(all.filter((label, i) => all.indexOf(label) !== i))) {
    problems.push({ place: '--engines', message: `${twice} is named twice`, hint: 'name each version once' });
  }
  for (const { label, path } of paths) {
    if (declared.some(({ python }) => python === path)) continue;
    const message = label === undefined ? `whose is ${path}?` : `${label} is not among the engines that are named`;
    problems.push({ place: '--python', message, hint: pythonHint });
  }
  if (problems.length > 0) throw new InputError(problems);
  return declared;
}

const pythonHint = 'write the engine and its interpreter: --python vllm=/opt/vllm/bin/python';

function entryProblems(name: string, version: string | undefined, host: string): readonly Problem[] {
  const place = '--engines';
  if (!startable.includes(name)) {
    return [{ place, message: `there is no engine “${name}”`, hint: `engines: ${startable.join(', ')}` }];
  }
  if (version !== undefined && !isVersion(version)) {
    const hint = `name one that was released: ${name}@0.11.0; or ${name} alone, to take what is installed`;
    return [{ place, message: `“${version}” is no version of ${name}`, hint }];
  }
  if (host === 'local') return [];
  return hostProblems({ name, host, version }).map(({ place: key, message, hint }) => ({
    place,
    message,
    hint: key === 'version' ? `for example --engines ${name}@VERSION` : (hint ?? ''),
  }));
}

/** What these engines cannot serve of a model, by what its name stands for; throws an InputError. */
export async function refuseMisfits(
  model: string,
  declared: readonly DeclaredEngine[],
  environment: Environment,
): Promise<void> {
  const gguf = await isGguf(model);
  const file = readReference(model, environment).kind === 'gguf';
  const serving = startable.filter((name) => ggufEngines.has(name) === gguf);
  const problems: Problem[] = [];
  for (const name of new Set(declared.map((one) => one.name))) {
    if (ggufEngines.has(name)) {
      const found = await engineNamed(name).checkModel(model);
      if (found.length === 0) continue;
      if (file) problems.push(...found);
      else {
        const message = `${name} serves GGUF files, and ${model} is none`;
        const hint = `give a file: --model path/to/model.gguf; or engines that serve such a model: ${serving.join(', ')}`;
        problems.push({ place: '--engines', message, hint });
      }
    } else if (gguf || file) {
      const message = `${name} is given models as a folder or by their name on a hub, and ${model} is neither`;
      problems.push({
        place: '--engines',
        message,
        hint: `use ${formatList([...ggufEngines], 'en')}, or name the model itself`,
      });
    }
  }
  if (problems.length > 0) throw new InputError(problems);
}

const isGguf = async (model: string): Promise<boolean> =>
  (await engineNamed('embedded').checkModel(model)).length === 0;

/** The engines that are installed here and can serve such a model; those for GPUs first. */
export async function enginesHere(
  model: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<readonly DeclaredEngine[]> {
  const gguf = await isGguf(model);
  const candidates = startable.filter((name) => ggufEngines.has(name) === gguf).map(engineNamed);
  const found = await Promise.all(
    candidates.map(async (engine) => {
      try {
        await engine.version(askAt({ name: engine.name, host: 'local' }, environment, signal));
        return (await engine.checkModel(model)).length === 0 ? [{ name: engine.name, host: 'local' }] : [];
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ServetuneError) return [];
        throw error;
      }
    }),
  );
  const here = found.flat();
  if (here.length > 0) return here;
  const names = candidates.map(({ name }) => name).join(', ');
  throw new InputError([
    {
      place: '--engines',
      message: `none of the engines that serve such a model is installed here (${names})`,
      hint: 'name those that are to be used: --engines vllm@0.11.0 --host uv, or --python vllm=/opt/vllm/bin/python; a GGUF file needs no other engine',
    },
  ]);
}
