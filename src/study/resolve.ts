import type { z } from 'zod';
import { isCheckpoint } from '../engines/checkpoints.ts';
import type { Engine, Environment, Facts } from '../engines/engine.ts';
import { missing } from '../engines/mapping.ts';
import { flagsSaidTwice } from '../engines/rules.ts';
import { engines } from '../engines/table.ts';
import { closest } from '../kit/closest.ts';
import { InputError, type Problem } from '../kit/errors.ts';
import { inWords } from '../kit/schema-words.ts';
import { formatList } from '../kit/words.ts';
import { type Configuration, engineLabel, type Settings, type SettingValue } from '../records/settings.ts';
import { applyAlternative, type SearchSpace, type SpaceAlternative } from '../records/space.ts';
import type { Alternative, StudySpec } from '../records/study.ts';
import { crossChecks, entryProblems, labelOf, refuse } from './cross-checks.ts';
import { unknownFlags } from './flag-check.ts';
import { lookAtEngines } from './look.ts';
import { type DeclaredEngine, declaredEngine, engineNamed } from './places.ts';
import type { StudyFile } from './read.ts';
import { incumbentsOf } from './span.ts';

/** What is known of the machine and of the model. */
export type KnownFacts = Pick<Facts, 'gpus' | 'shape'> & {
  /** The flags of each installed engine, by `engineLabel`, as its own help names them. */
  readonly flagSets?: ReadonlyMap<string, ReadonlySet<string>>;
};

/** How a study is resolved. */
interface ResolveOptions {
  readonly mustBeInstalled?: boolean;
  /** The flags of these engines were checked before, so that they are not asked for them. */
  readonly flagsChecked?: boolean;
  readonly known?: KnownFacts;
  /** Told what is being looked at: an engine takes up to a minute, and hours where it is downloaded first. */
  onLook?(what: string): void;
}

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
  { mustBeInstalled = true, flagsChecked = false, known = {}, onLook }: ResolveOptions = {},
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

  const wrong = entryProblems(study);
  for (const { index, problem } of wrong) {
    problems.push({ ...problem, place: place(['engines', index, ...(problem.place ? [problem.place] : [])]) });
  }
  // What is said of such an entry already would only be said once more by whoever tried to start it.
  const sound = declared.filter((_, i) => !wrong.some(({ index }) => index === i));
  const at = (i: number): string => place(['engines', declared.indexOf(sound[i] as DeclaredEngine)]);
  const how = { mustBeInstalled, asksFlags: mustBeInstalled && !flagsChecked, ...(onLook ? { onLook } : {}) };
  const seen = await lookAtEngines(sound, at, environment, signal, how);
  const looked = declared.map((entry) => seen[sound.indexOf(entry)] ?? { version: entry.version, problems: [] });
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
    const written = declared.findIndex((entry) => labelOf(entry) === wanted);
    const exact = found[written] ?? found.find((e) => engineLabel(e) === wanted);
    const named = exact ? [exact] : found.filter((e) => wanted === undefined || e.engine === wanted);
    const [first = found[0] as { engine: string }] = named;
    if (wanted === undefined || named.length === 1) return first;
    problems.push({
      place: place([...at, 'engine']),
      ...(named.length > 1
        ? {
            message: `“${wanted}” may be ${named.map(engineLabel).join(' or ')}`,
            hint: `name the version: engine: ${engineLabel(first)}`,
          }
        : {
            message: `“${wanted}” is not among the engines of this study`,
            hint: `add it under engines; there are: ${found.map(engineLabel).join(', ')}`,
          }),
    });
    return first;
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
  refuse(problems);
  return space;
}

function settingsOf(alternative: Alternative): Settings {
  const entries = Object.entries(alternative).filter(([key, value]) => key !== 'engine' && value !== undefined);
  return Object.fromEntries(entries) as Settings;
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
      const met = alternative.engine ? [space.baseline] : incumbentsOf(space, s);
      const each = met.map((incumbent) =>
        configurationProblems(study, applyAlternative(incumbent, alternative), at, place, {
          own: alternative.settings,
          known,
        }),
      );
      if (!each.every((list) => list.length > 0)) return;
      const several = new Set(met.map(engineLabel)).size > 1;
      each.forEach((list, i) => {
        const whose = several ? `${engineLabel(met[i] as Configuration)}: ` : '';
        problems.push(...list.map((p) => ({ ...p, message: `${whose}${p.message}` })));
      });
    });
  });
  return problems;
}

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
      .flatMap((issue) => settingIssue(engine, issue, configuration.settings, at, place))
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
    ...(engine.mapping ? flagsSaidTwice(engine.mapping, saidAsFlags(engine, settings), version) : []),
    ...engine.conflicts(settings, facts),
  ].map((p) => ({ ...p, place: place([...at, p.place]) }));
}

/** A checkpoint is named by its own name, not by a flag. */
const saidAsFlags = (engine: Engine, { quantization, ...others }: Settings): Settings =>
  quantization === undefined || (engine.checkpoint && isCheckpoint(quantization))
    ? others
    : { quantization, ...others };

function settingIssue(
  engine: Engine,
  issue: z.core.$ZodIssue,
  settings: Settings,
  at: readonly PropertyKey[],
  place: StudyFile['place'],
): (Problem & { name: string })[] {
  const names = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0])];
  return names.map((name) => ({
    name,
    place: place([...at, name]),
    ...complaint(engine, issue, name, settings[name]),
  }));
}

function complaint(
  engine: Engine,
  issue: z.core.$ZodIssue,
  name: string,
  value: SettingValue | undefined,
): { readonly message: string; readonly hint: string } {
  if (issue.code === 'unrecognized_keys') {
    const settings = Object.keys(engine.settings.shape);
    const hint =
      settings.length > 0
        ? `its settings: ${settings.join(', ')}`
        : 'it has no settings, since servetune does not start it; leave the setting out, or name an engine that has it';
    return { message: `${engine.name} has no setting ${name}`, hint };
  }
  if (issue.code !== 'invalid_value') return { message: inWords(issue.message), hint: describe(engine, name) };
  const takers = engines.filter((other) => {
    const schema = other.settings.shape[name] as z.ZodType | undefined;
    return other !== engine && schema?.safeParse(value).success === true;
  });
  const whose =
    takers.length === 0
      ? ''
      : `; it is one of ${formatList(
          takers.map((other) => other.name),
          'en',
        )}`;
  const message = `${engine.name} has no ${name} “${value}”${whose}`;
  return { message, hint: `${engine.name} has: ${issue.values.join(', ')}` };
}

const describe = (engine: Engine, name: string): string =>
  (engine.settings.shape[name] as z.ZodType | undefined)?.description ?? `a setting of ${engine.name}`;
