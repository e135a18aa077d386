import { InputError, type Problem } from '../kit/errors.ts';
import { formatList } from '../kit/words.ts';
import { engineLabel } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import { type DeclaredEngine, declaredEngine, engineNamed } from './places.ts';
import type { StudyFile } from './read.ts';

/** What is wrong with references between parts of a study file. */
export function crossChecks(study: StudySpec, place: StudyFile['place']): Problem[] {
  const problems: Problem[] = [];
  const names = study.workloads.map((w) => w.name);
  const twice = (list: readonly string[], of: readonly PropertyKey[]): void => {
    list.forEach((name, i) => {
      if (list.indexOf(name) === i) return;
      problems.push({
        place: place([...of, i, 'name']),
        message: `“${name}” is there twice`,
        hint: 'give each its own name',
      });
    });
  };
  twice(names, ['workloads']);
  twice(
    study.stages.map((s) => s.name),
    ['stages'],
  );
  const { workload } = study.objective;
  if (workload !== undefined && !names.includes(workload)) {
    problems.push({
      place: place(['objective', 'workload']),
      message: `there is no workload “${workload}”`,
      hint: `workloads: ${names.join(', ')}`,
    });
  }
  study.workloads.forEach((w, i) => {
    if (w.min_duration_s === 0 || w.max_concurrency !== undefined || w.request_rate !== 'inf') return;
    problems.push({
      place: place(['workloads', i, 'min_duration_s']),
      message: 'needs a pace: without one every request is sent at once',
      hint: 'add max_concurrency or a finite request_rate',
    });
  });
  const simulated = study.engines.filter((entry) => declaredEngine(entry).host === 'simulated').length;
  if (simulated > 0 && simulated < study.engines.length) {
    problems.push({
      place: place(['engines']),
      message: `${simulated} of ${study.engines.length} engines are simulated: predicted figures cannot be compared with measured ones`,
      hint: 'give all of them host: simulated, or none',
    });
  }
  study.constraints.forEach((constraint, i) => {
    if (constraint.at_most !== undefined || constraint.at_least !== undefined) return;
    problems.push({ place: place(['constraints', i]), message: 'has no limit', hint: 'add at_most or at_least' });
  });
  return problems;
}

/** What a version looks like, as an engine's own program or its releases say it: `0.5.5.post1`, `b6123`. */
export const isVersion = (text: string): boolean => /^[vb]?\d[\w.+!-]*$/i.test(text);

/**
 * What is wrong with the engines of a study by what stands there, by the number of the entry; the place of each problem
 * is the key in question, or empty.
 */
export function entryProblems(
  study: Pick<StudySpec, 'engines'>,
): readonly { readonly index: number; readonly problem: Problem }[] {
  const declared = study.engines.map(declaredEngine);
  return declared.flatMap((entry, index) => {
    const same = declared.slice(0, index).some((other) => labelOf(other) === labelOf(entry));
    return [...ofEntry(entry), ...(same ? [twiceProblem(entry)] : [])].map((problem) => ({ index, problem }));
  });
}

export const labelOf = ({ name, version }: Pick<DeclaredEngine, 'name' | 'version'>): string =>
  engineLabel({ engine: name, ...(version === undefined ? {} : { version }) });

const twiceProblem = (entry: DeclaredEngine): Problem => ({
  place: '',
  message: `${labelOf(entry)} is there twice`,
  hint: 'give each a version of its own, or remove one: results are kept by engine and version',
});

function ofEntry(entry: DeclaredEngine): readonly Problem[] {
  const { name, version, host, python, image, url, served_model_name: served } = entry;
  const problems: Problem[] = [];
  const add = (place: string, message: string, hint: string): void => void problems.push({ place, message, hint });
  if (served !== undefined && name !== 'external') add('served_model_name', 'is for external only', 'leave it out');
  if ((name === 'external') !== (url !== undefined)) {
    add(
      '',
      url === undefined ? 'external needs a url' : `${name} is started by servetune, so it has no url`,
      '{ name: external, url: "http://127.0.0.1:8000" } is a server that runs already',
    );
  }
  if (version !== undefined && name !== 'external' && !isVersion(version)) {
    add(
      'version',
      `“${version}” is no version`,
      'name one that was released (0.11.0), or leave it out to take what is installed',
    );
  }
  if (python === '') add('python', 'names no interpreter', 'write its path (/opt/vllm/bin/python), or leave it out');
  if (python !== undefined && host === 'docker') add('python', 'means nothing to host docker', 'leave it out');
  if (image !== undefined && host !== 'docker') add('image', `means nothing to host ${host}`, 'add host: docker');
  if (host === 'simulated') {
    if (name === 'external') add('host', 'a server that runs already is not simulated', 'name the engine itself');
    if (python !== undefined) add('python', 'means nothing to host simulated', 'leave it out');
  } else if (host !== 'local') problems.push(...hostProblems({ name, host, version, image }));
  return problems;
}

/** What a host that brings engines itself would have to know. */
export function hostProblems({
  name,
  host,
  version,
  image,
}: {
  readonly name: string;
  readonly host: string;
  readonly version?: string | undefined;
  readonly image?: string | undefined;
}): readonly Problem[] {
  const engine = engineNamed(name);
  const brings = host === 'uv' ? engine.packages : engine.image;
  if (brings === undefined && image === undefined) {
    const others = ['local', ...(engine.packages ? ['uv'] : []), ...(engine.image ? ['docker'] : [])];
    return [
      {
        place: 'host',
        message: `${host} cannot bring ${name}: ${host === 'uv' ? 'it is not on PyPI' : 'no image of it is known'}`,
        hint: `use host ${formatList(others, 'en').replace(' and ', ' or ')}`,
      },
    ];
  }
  if (version !== undefined || image !== undefined) return [];
  return [
    {
      place: 'version',
      message: `${name} needs a version, since host ${host} installs it`,
      hint: `for example { name: ${name}, version: X.Y.Z, host: ${host} }`,
    },
  ];
}

/** Throws an InputError with all of these, if there are any; each is told once. */
export function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  throw new InputError([...new Map(problems.map((p) => [`${p.place}\n${p.message}`, p])).values()]);
}
