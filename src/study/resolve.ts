import type { z } from 'zod';
import type { Engine, Environment, Facts } from '../engines/engine.ts';
import { missing } from '../engines/mapping.ts';
import { engines } from '../engines/table.ts';
import { closest } from '../kit/closest.ts';
import { InputError, type Problem } from '../kit/errors.ts';
import { type Configuration, engineLabel, type Settings } from '../records/settings.ts';
import { applyAlternative, type SearchSpace, type SpaceAlternative } from '../records/space.ts';
import type { Alternative, StudySpec } from '../records/study.ts';
import { flagsOf, unknownFlags } from './flag-check.ts';
import { askAt, type DeclaredEngine, declaredEngine, engineNamed, prepareHost } from './places.ts';
import type { StudyFile } from './read.ts';

/** What is known of the machine and of the model. */
export type KnownFacts = Pick<Facts, 'gpus' | 'shape'> & {
  /** The flags of each installed engine, by `engineLabel`, as its own help names them. */
  readonly flagSets?: ReadonlyMap<string, ReadonlySet<string>>;
};

/**
 * Checks a study against the engines that it names and fills their versions in. Nothing is started beyond asking each
 * engine for its version. Throws one InputError with everything that is wrong.
 *
 * `mustBeInstalled: false` takes an engine that is not there as the version that the study names, so that its commands
 * can be shown on another machine than the one that will run them.
 */
export async function resolveStudy(
  { study, place }: Pick<StudyFile, 'study' | 'place'>,
  environment: Environment,
  signal: AbortSignal,
  { mustBeInstalled = true, known = {} }: { readonly mustBeInstalled?: boolean; readonly known?: KnownFacts } = {},
): Promise<SearchSpace> {
  const problems: Problem[] = [...crossChecks(study, place)];
  const declared = study.engines.map(declaredEngine);
  const unknown = declared.filter(({ name }) => !engines.some((e) => e.name === name));
  declared.forEach(({ name }, i) => {
    if (!unknown.some((d) => d.name === name)) return;
    const meant = closest(
      name,
      engines.map((e) => e.name),
    );
    problems.push({
      place: place(['engines', i]),
      message: `there is no engine “${name}”`,
      hint: meant ? `did you mean “${meant}”?` : `engines: ${engines.map((e) => e.name).join(', ')}`,
    });
  });
  // What an engine that does not exist would say of the rest cannot be known.
  if (unknown.length > 0) throw new InputError(problems);

  const looked = await Promise.all(
    declared.map((entry, i) => lookAt(entry, place(['engines', i]), environment, signal, mustBeInstalled)),
  );
  problems.push(...looked.flatMap((one) => one.problems));
  const versions = looked.map(({ version }) => version);
  const flagSets = new Map(
    looked.flatMap(({ version, flags }, i) => {
      const engine = declared[i]?.name;
      return flags === undefined || version === undefined || engine === undefined
        ? []
        : [[engineLabel({ engine, version }), flags] as const];
    }),
  );
  const found = declared.map(({ name }, i) => ({ engine: name, ...(versions[i] ? { version: versions[i] } : {}) }));

  const pick = (wanted: string | undefined, at: readonly PropertyKey[]): Pick<Configuration, 'engine' | 'version'> => {
    const match = wanted === undefined ? found[0] : found.find((e) => e.engine === wanted || engineLabel(e) === wanted);
    if (match) return match;
    problems.push({
      place: place([...at, 'engine']),
      message: `“${wanted}” is not among the engines of this study`,
      hint: `add it under engines; there are: ${found.map(engineLabel).join(', ')}`,
    });
    return found[0] as { engine: string };
  };
  const baseline: Configuration = {
    ...pick(study.baseline.engine, ['baseline']),
    settings: settingsOf(study.baseline),
  };
  const stages = study.stages.map((stage, s) => ({
    name: stage.name,
    alternatives: stage.alternatives.map(
      (alternative, a): SpaceAlternative => ({
        ...(alternative.engine === undefined
          ? {}
          : { engine: pick(alternative.engine, ['stages', s, 'alternatives', a]) }),
        settings: settingsOf(alternative),
      }),
    ),
  }));
  const space: SearchSpace = { baseline, stages };
  problems.push(...settingProblems(study, space, place, { ...known, flagSets }));
  for (const name of new Set(declared.map((d) => d.name))) {
    const found = await engineNamed(name).checkModel(study.model);
    problems.push(...found.map((p) => ({ ...p, place: `${place(['model'])} ${p.place}` })));
  }
  if (problems.length > 0) throw new InputError(dedupe(problems));
  return space;
}

interface Looked {
  readonly version: string | undefined;
  /** Of the installed engine, as its own help names them. */
  readonly flags?: ReadonlySet<string>;
  readonly problems: readonly Problem[];
}

/** Asks one engine for its version and its flags, where it would run. */
async function lookAt(
  entry: DeclaredEngine,
  at: string,
  environment: Environment,
  signal: AbortSignal,
  mustBeInstalled: boolean,
): Promise<Looked> {
  const { name, version } = entry;
  if (!mustBeInstalled && version !== undefined) return { version, problems: [] };
  const engine = engineNamed(name);
  const ask = askAt(entry, environment, signal);
  try {
    if (mustBeInstalled) await prepareHost(entry, environment, signal);
    const found = await engine.version(ask);
    const flags = mustBeInstalled ? await flagsOf(engine, ask) : undefined;
    const installed = { version: found, ...(flags ? { flags } : {}) };
    if (version === undefined || version === found) return { ...installed, problems: [] };
    const problem = {
      place: at,
      message: `${name} ${found} is installed, not ${version}`,
      hint: `install ${name} ${version}, or leave the version out`,
    };
    return { ...installed, version, problems: [problem] };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    if (!mustBeInstalled) return { version, problems: [] };
    return { version, problems: error.problems.map((p) => ({ ...p, place: `${at}: ${p.place}` })) };
  }
}

function settingsOf(alternative: Alternative): Settings {
  const entries = Object.entries(alternative).filter(([key, value]) => key !== 'engine' && value !== undefined);
  return Object.fromEntries(entries) as Settings;
}

/** References between parts of the file. */
function crossChecks(study: StudySpec, place: StudyFile['place']): Problem[] {
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
  study.engines.map(declaredEngine).forEach(({ name, url }, i) => {
    if ((name === 'external') === (url !== undefined)) return;
    problems.push({
      place: place(['engines', i]),
      message: url === undefined ? 'external needs a url' : `${name} is started by servetune, so it has no url`,
      hint: '{ name: external, url: "http://127.0.0.1:8000" } is a server that runs already',
    });
  });
  study.workloads.forEach((w, i) => {
    if (w.min_duration_s === 0 || w.max_concurrency !== undefined || w.request_rate !== 'inf') return;
    problems.push({
      place: place(['workloads', i, 'min_duration_s']),
      message: 'needs a pace: without one every request is sent at once',
      hint: 'add max_concurrency or a finite request_rate',
    });
  });
  study.constraints.forEach((constraint, i) => {
    if (constraint.at_most !== undefined || constraint.at_least !== undefined) return;
    problems.push({ place: place(['constraints', i]), message: 'has no limit', hint: 'add at_most or at_least' });
  });
  return problems;
}

/** Settings that their engine does not take, and combinations that cannot work. */
function settingProblems(
  study: StudySpec,
  space: SearchSpace,
  place: StudyFile['place'],
  known: KnownFacts,
): Problem[] {
  const problems = [...configurationProblems(study, space.baseline, ['baseline'], place, { known })];
  space.stages.forEach((stage, s) => {
    stage.alternatives.forEach((alternative, a) => {
      const at = ['stages', s, 'alternatives', a];
      // Without an engine of its own an alternative may meet any engine that can have won by then: one must take it.
      const incumbents = alternative.engine
        ? [space.baseline]
        : [space.baseline, ...enginesBefore(space, s).map((e): Configuration => ({ ...e, settings: {} }))];
      const each = incumbents.map((incumbent) =>
        configurationProblems(study, applyAlternative(incumbent, alternative), at, place, {
          own: alternative.settings,
          known,
        }),
      );
      if (each.every((list) => list.length > 0)) problems.push(...(each[0] as Problem[]));
    });
  });
  return problems;
}

const enginesBefore = (space: SearchSpace, stage: number): Pick<Configuration, 'engine' | 'version'>[] =>
  space.stages.slice(0, stage).flatMap((s) => s.alternatives.flatMap((a) => (a.engine ? [a.engine] : [])));

/**
 * What is wrong with one configuration, by its engine's own schema and rules.
 *
 * `own` are the settings that stand at `at`; problems with others stand elsewhere and are reported there.
 */
export function configurationProblems(
  study: StudySpec,
  configuration: Configuration,
  at: readonly PropertyKey[],
  place: StudyFile['place'],
  { own = configuration.settings, known = {} }: { readonly own?: Settings; readonly known?: KnownFacts } = {},
): Problem[] {
  const engine = engineNamed(configuration.engine);
  const parsed = engine.settings.safeParse(configuration.settings);
  if (!parsed.success) {
    return parsed.error.issues
      .flatMap((issue) => settingIssue(engine, issue, at, place))
      .filter(({ name }) => name in own);
  }
  const { settings, version } = configuration;
  const concurrency = Math.max(...study.workloads.map((w) => w.max_concurrency ?? w.num_prompts));
  const { flagSets, ...machine } = known;
  const facts = { ...machine, model: study.model, concurrency, ...(version === undefined ? {} : { version }) };
  const flags = flagSets?.get(engineLabel(configuration));
  return [
    ...(engine.mapping ? missing(engine.mapping, settings, { name: engine.name, version }) : []),
    ...(flags ? unknownFlags(engine, settings, { version, flags }) : []),
    ...engine.conflicts(settings, facts),
  ].map((p) => ({ ...p, place: place([...at, p.place]) }));
}

function settingIssue(
  engine: Engine,
  issue: z.core.$ZodIssue,
  at: readonly PropertyKey[],
  place: StudyFile['place'],
): (Problem & { name: string })[] {
  const names = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0])];
  return names.map((name) => ({
    name,
    place: place([...at, name]),
    message:
      issue.code === 'unrecognized_keys'
        ? `${engine.name} has no setting ${name}`
        : issue.message.replace(/^Invalid (input|option): /, ''),
    hint:
      issue.code === 'unrecognized_keys'
        ? `its settings: ${Object.keys(engine.settings.shape).join(', ')}`
        : describe(engine, name),
  }));
}

const describe = (engine: Engine, name: string): string =>
  (engine.settings.shape[name] as z.ZodType | undefined)?.description ?? `a setting of ${engine.name}`;

const dedupe = (problems: readonly Problem[]): Problem[] => [
  ...new Map(problems.map((p) => [`${p.place}\n${p.message}`, p])).values(),
];
