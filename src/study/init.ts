import { stringify } from 'yaml';
import type { Engine, Environment, Facts } from '../engines/engine.ts';
import { missing } from '../engines/mapping.ts';
import { InputError, ServetuneError } from '../kit/errors.ts';
import { invoked } from '../kit/invocation.ts';
import { formatList } from '../kit/words.ts';
import type { Gpu } from '../records/gpu.ts';
import type { Settings } from '../records/settings.ts';
import { readReference } from '../weights/reference.ts';
import { type AskedEngines, askedEngines, enginesHere, ggufEngines, refuseMisfits } from './init/declared.ts';
import { type AskedGpus, gpuFacts, modelFacts, type StudyFacts } from './init/facts.ts';
import { neededGpus } from './init/parallel.ts';
import { type MergedStage, mergeStages, type StageOfEngine } from './init/stages.ts';
import { type DefaultWorkload, deciding, leftOut, tokensOf, workloadsFor } from './init/workloads.ts';
import { type DeclaredEngine, engineNamed } from './places.ts';

export type { StudyFacts } from './init/facts.ts';

/** A study file, and the engines that it is made of. */
export interface StudyDraft {
  readonly text: string;
  readonly engines: readonly DeclaredEngine[];
  /** What it was made for. */
  readonly facts: StudyFacts;
  /** What a user would not expect of it, and why: sentences. */
  readonly notes: readonly string[];
}

/** What a study is to be made of. */
export interface DraftOptions extends AskedEngines {
  /** GPUs that are not here. */
  readonly gpus?: AskedGpus;
}

/**
 * Finds out what a study of `model` on this machine can be made of, and writes it. Engines that are named need not be
 * installed; without, those that are and that can serve such a model are taken.
 *
 * @throws InputError for engines that do not exist, that cannot serve such a model, that a host cannot install without a
 * version, or that are not here; for a model on this disk that is not whole; for a GPU that nothing is known of
 */
export async function draftStudy(
  model: string,
  { gpus: wanted, ...asked }: DraftOptions,
  environment: Environment,
  signal: AbortSignal,
): Promise<StudyDraft> {
  if (readReference(model, environment).kind === 'no file') {
    throw new InputError([{ place: '--model', message: `${model} does not exist`, hint: 'check the path' }]);
  }
  const named = askedEngines(asked);
  if (named !== undefined) await refuseMisfits(model, named, environment);
  const known = await modelFacts(model, environment, signal);
  const declared = named ?? (await enginesHere(model, environment, signal));
  const { why, ...gpus } = await gpuFacts(wanted, environment, signal);
  const facts = { ...gpus, ...known };
  return { text: defaultStudy(model, facts, declared), engines: declared, facts, notes: notesOf(declared, facts, why) };
}

/** What a user would not expect of the file. */
function notesOf(declared: readonly DeclaredEngine[], { shape }: StudyFacts, why: string | undefined): string[] {
  const onCpu = computesOnCpu(declared);
  const lacks = `No stages for ${formatList([...new Set(declared.map(({ name }) => name))], 'en')}`;
  return [
    ...(why === undefined || onCpu
      ? []
      : [`${lacks}: what is worth trying depends on the GPU (${why}). For one that is elsewhere: --gpu H100 --gpus 1`]),
    ...tooLongLines({ onCpu, maxPositions: shape?.maxPositions }),
  ];
}

function tooLongLines(fitting: Parameters<typeof leftOut>[0]): readonly string[] {
  const without = leftOut(fitting);
  if (without.length === 0) return [];
  const names = without.map((workload) => `${workload.name} (up to ${tokensOf(workload)})`);
  return [`Left out, since the model takes ${fitting.maxPositions} tokens: ${formatList(names, 'en')}`];
}

const computesOnCpu = (declared: readonly DeclaredEngine[]): boolean =>
  declared.every(({ name }) => ggufEngines.has(name));

/**
 * A study file for `model`: the default stages of each engine, for these GPUs and this shape of model, and workloads as
 * the usual comparisons of engines have them. The first engine, as shipped, is the baseline. With comments; passes the
 * checks of `readStudy` and `resolveStudy`.
 */
export function defaultStudy(model: string, known: StudyFacts, declared: readonly DeclaredEngine[]): string {
  const [first] = declared;
  if (first === undefined) throw new ServetuneError('no_engine', 'a study needs an engine');
  const onCpu = computesOnCpu(declared);
  const workloads = workloadsFor({ onCpu, maxPositions: known.shape?.maxPositions });
  const shared = neededGpus(known);
  const stages = mergeStages(declared.flatMap((one) => stagesOf(one, model, known, workloads)));
  return [
    ...header(model, known, declared),
    `name: ${yamlValue(studyName(model, known.gpus ?? []))}`,
    `model: ${yamlValue(model)}`,
    'engines:',
    ...declared.map((one) => `  - ${entryOf(one)}`),
    '',
    '# What everything is compared with: the first engine as shipped. It is measured first, and again at the end.',
    ...(shared > 1 ? [`# The weights need ${shared} GPUs together.`] : []),
    `baseline: ${yamlValue(asShipped(first, shared))}`,
    '',
    '# Each stage builds on the winner of the one before. An alternative that names an engine begins with its defaults; any',
    '# other is set on top of what was chosen. One that the chosen engine does not have is noted as such and not started.',
    ...(declared.length > 1
      ? ['# Behind a # stand the engines that it was proposed for; another one that has it tries it as well.']
      : []),
    ...stageLines(declared, stages, shared),
    '',
    ...workloadLines(workloads),
    '',
    `objective: ${yamlValue({ metric: 'total_token_throughput', workload: deciding(workloads) })}`,
    '# Example of a limit that the winner must keep:',
    '# constraints: [{ metric: p99_ttft_ms, at_most: 2000 }]',
    '# Comparisons that noise could explain are repeated from fresh starts, so many times at most.',
    'repeats: { close_calls: 2 }',
    '',
  ].join('\n');
}

/** What an engine thinks worth trying, without what its own rules refuse. */
function stagesOf(
  declared: DeclaredEngine,
  model: string,
  known: StudyFacts,
  workloads: readonly DefaultWorkload[],
): readonly StageOfEngine[] {
  const engine = engineNamed(declared.name);
  const { version } = declared;
  const concurrency = Math.max(...workloads.map((w) => w.max_concurrency ?? w.num_prompts));
  const facts: Facts = { ...known, model, concurrency, ...(version === undefined ? {} : { version }) };
  const shared = neededGpus(known);
  const { engine: _, ...shipped } = asShipped(declared, shared);
  // It stands on what was shipped: copies of a model that needs all GPUs, or fewer GPUs than it needs, cannot work.
  const works = (settings: Settings): boolean =>
    (typeof settings.tensor_parallel !== 'number' || settings.tensor_parallel >= shared) &&
    problemsOf(engine, { ...shipped, ...settings }, facts).length === 0;
  return (engine.defaultStages?.(facts) ?? []).map(({ name, alternatives }) => ({
    engine: declared.name,
    name,
    alternatives: alternatives.filter(works),
  }));
}

function problemsOf(engine: Engine, settings: Settings, facts: Facts): readonly unknown[] {
  const parsed = engine.settings.safeParse(settings);
  if (!parsed.success) return parsed.error.issues;
  const { name } = engine;
  return [
    ...(engine.mapping ? missing(engine.mapping, settings, { name, version: facts.version }) : []),
    ...engine.conflicts(settings, facts),
  ];
}

function header(
  model: string,
  { gpus = [], gpusNamed, shape }: StudyFacts,
  declared: readonly DeclaredEngine[],
): string[] {
  const kinds = new Map<string, number>();
  for (const { name, memoryMiB } of gpus) {
    const kind = `${name}, ${Math.round(memoryMiB / 1024)} GiB`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const on = kinds.size === 0 ? 'no GPU found' : [...kinds].map(([kind, count]) => `${count} x ${kind}`).join('; ');
  const size =
    shape === undefined
      ? []
      : [
          `# Model: ${shape.layers} layers, ${shape.attentionHeads} heads (${shape.kvHeads} for KV), ${shape.maxPositions} tokens${shape.experts > 0 ? `, ${shape.experts} experts` : ''}`,
        ];
  return [
    `# ${model}: which of ${declared.map(labelOf).join(', ')} serves it fastest, and with which settings.`,
    `# Made for: ${on}${gpusNamed ? ', as it was named; this machine was not looked at' : ''}`,
    ...size,
    ...tooLongLines({ onCpu: computesOnCpu(declared), maxPositions: shape?.maxPositions }).map((line) => `# ${line}.`),
    ...(gpus.length === 0 && !computesOnCpu(declared)
      ? [
          '# What is worth trying depends on the GPU: make this file on the machine that will serve, or name its GPUs (--gpu),',
          '# to get more stages.',
        ]
      : []),
    '#',
    `#   ${invoked('tune STUDY.yaml --dry-run')}   every command that it would start`,
    `#   ${invoked('tune STUDY.yaml')}             run it; --resume goes on after an interruption`,
    '#',
    '# docs/study-file.md names every key.',
  ];
}

/** `Qwen/Qwen3-14B` on an H100 as `qwen3-14b-h100`. */
export function studyName(model: string, gpus: readonly Pick<Gpu, 'name'>[]): string {
  const base = model.replace(/\/+$/, '').split('/').at(-1) ?? model;
  const part = /\b(?:RTX\s?(?:PRO\s?)?\d{4}|(?:MI|GH|GB)\d{3}\w?|[A-Z]\d{1,3}[A-Z]?\d?)\b/.exec(
    gpus[0]?.name ?? '',
  )?.[0];
  const name = [base.replace(/\.gguf$/i, ''), ...(part === undefined ? [] : [part])]
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 60);
  return name === '' ? 'study' : name;
}

const labelOf = ({ name, version }: DeclaredEngine): string => (version === undefined ? name : `${name}@${version}`);

/** An engine with its defaults, on as many GPUs as the weights need. */
const asShipped = (declared: DeclaredEngine, shared: number) => ({
  engine: labelOf(declared),
  ...(shared > 1 && 'tensor_parallel' in engineNamed(declared.name).settings.shape ? { tensor_parallel: shared } : {}),
});

function entryOf(declared: DeclaredEngine): string {
  const { name, version, host, ...rest } = declared;
  if (host === 'local' && Object.keys(rest).length === 0) return yamlValue(labelOf(declared));
  return yamlValue({ name, ...(version === undefined ? {} : { version }), host, ...rest });
}

function stageLines(
  declared: readonly DeclaredEngine[],
  stages: readonly MergedStage[],
  shared: number,
): readonly string[] {
  const rivals = declared.slice(1);
  if (rivals.length === 0 && stages.length === 0) return ['stages: []'];
  const lines = ['stages:'];
  if (rivals.length > 0) {
    lines.push('  - name: engine', '    alternatives:');
    for (const rival of rivals) lines.push(`      - ${yamlValue(asShipped(rival, shared))}`);
  }
  for (const { name, alternatives } of stages) {
    lines.push(`  - name: ${yamlValue(name)}`, '    alternatives:');
    for (const { settings, engines } of alternatives) {
      const whose = engines.length < declared.length ? ` # ${engines.join(', ')}` : '';
      lines.push(`      - ${yamlValue(settings)}${whose}`);
    }
  }
  return lines;
}

function workloadLines(workloads: readonly DefaultWorkload[]): readonly string[] {
  return [
    '# The workload of the objective decides; baseline and winner are measured on the others as well.',
    ...(workloads.some((w) => w.dataset_name === 'sharegpt')
      ? [
          `# ShareGPT is downloaded once: ${invoked('dataset fetch sharegpt')}. Without it a synthetic stand-in of the`,
          '# same lengths is sent, and every result says so.',
        ]
      : []),
    'workloads:',
    ...workloads.map((w) => `  - ${yamlValue(w)}`),
  ];
}

/** A value in YAML on one line. */
const yamlValue = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: true }).trim();
