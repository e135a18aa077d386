import { stringify } from 'yaml';
import type { Engine, Environment, Facts } from '../engines/engine.ts';
import { missing } from '../engines/mapping.ts';
import { engines as allEngines } from '../engines/table.ts';
import { InputError, type Problem, ServetuneError } from '../kit/errors.ts';
import type { Gpu } from '../records/gpu.ts';
import type { Settings } from '../records/settings.ts';
import { gpusOf } from '../telemetry/gpus.ts';
import { readReference } from '../weights/reference.ts';
import { resolveCheckpoint } from '../weights/resolve.ts';
import { modelShape } from '../weights/shape.ts';
import { neededGpus } from './init/parallel.ts';
import { type MergedStage, mergeStages, type StageOfEngine } from './init/stages.ts';
import { type DefaultWorkload, deciding, workloadsFor } from './init/workloads.ts';
import { askAt, type DeclaredEngine, engineNamed } from './places.ts';
import type { KnownFacts } from './resolve.ts';

/** Engines that serve GGUF files and the model that is made here, and nothing else. */
const ggufEngines: ReadonlySet<string> = new Set(['embedded', 'llama.cpp']);

/** Longest that the hub may take to tell about a model, seconds: a study file can be written without. */
const hubTimeoutS = 30;

/** What a study file is made for. What is not known is left out, and nothing is concluded from it. */
export interface StudyFacts extends KnownFacts {
  readonly weightBytes?: number;
}

/** A study file, and the engines that it is made of. */
export interface StudyDraft {
  readonly text: string;
  readonly engines: readonly DeclaredEngine[];
}

/**
 * Finds out what a study of `model` on this machine can be made of, and writes it.
 *
 * `named` are engines as a user names them (`vllm`, `vllm@0.11.0`); they need not be installed. None: those that are, and
 * that can serve such a model.
 *
 * @throws InputError for engines that do not exist, that a host cannot install without a version, or that are not here
 */
export async function draftStudy(
  model: string,
  { named, host = 'local' }: { readonly named?: readonly string[]; readonly host?: string },
  environment: Environment,
  signal: AbortSignal,
): Promise<StudyDraft> {
  if (readReference(model, environment).kind === 'no file') {
    throw new InputError([{ place: '--model', message: `${model} does not exist`, hint: 'check the path' }]);
  }
  const declared = named === undefined ? await enginesHere(model, environment, signal) : declaredBy(named, host);
  const gpus = await gpusOf(environment, signal);
  const facts = { gpus, ...(await modelFacts(model, environment, signal)) };
  return { text: defaultStudy(model, facts, declared), engines: declared };
}

/** What can be told of a model; nothing where its hub is out of reach or does not know it. */
async function modelFacts(
  model: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<Pick<StudyFacts, 'shape' | 'weightBytes'>> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutS * 1000)]);
  try {
    const shape = await modelShape(model, environment, within);
    if (shape === null) return {};
    const { bytes } = await resolveCheckpoint(model, environment, within);
    return { shape, weightBytes: bytes };
  } catch (error) {
    signal.throwIfAborted();
    if (within.aborted || error instanceof ServetuneError) return {};
    throw error;
  }
}

/**
 * A study file for `model`: the default stages of each engine, for these GPUs and this shape of model, and workloads as
 * the usual comparisons of engines have them. The first engine, as shipped, is the baseline. With comments; passes the
 * checks of `readStudy` and `resolveStudy`.
 */
export function defaultStudy(model: string, known: StudyFacts, declared: readonly DeclaredEngine[]): string {
  const [first] = declared;
  if (first === undefined) throw new ServetuneError('no_engine', 'a study needs an engine');
  const onCpu = declared.every(({ name }) => ggufEngines.has(name));
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
  known: KnownFacts,
  workloads: readonly DefaultWorkload[],
): readonly StageOfEngine[] {
  const engine = engineNamed(declared.name);
  const { version } = declared;
  const concurrency = Math.max(...workloads.map((w) => w.max_concurrency ?? w.num_prompts));
  const facts: Facts = { ...known, model, concurrency, ...(version === undefined ? {} : { version }) };
  return (engine.defaultStages?.(facts) ?? []).map(({ name, alternatives }) => ({
    engine: declared.name,
    name,
    alternatives: alternatives.filter((settings) => problemsOf(engine, settings, facts).length === 0),
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

function header(model: string, { gpus = [], shape }: KnownFacts, declared: readonly DeclaredEngine[]): string[] {
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
    `# Made for: ${on}`.trimEnd(),
    ...size,
    ...(gpus.length === 0 && !declared.every(({ name }) => ggufEngines.has(name))
      ? [
          '# What is worth trying depends on the GPU: make this file on the machine that will serve, to get more stages.',
        ]
      : []),
    '#',
    '#   npx servetune tune STUDY.yaml --dry-run   every command that it would start',
    '#   npx servetune tune STUDY.yaml             run it; --resume goes on after an interruption',
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
          '# ShareGPT is downloaded once: npx servetune dataset fetch sharegpt. Without it a synthetic stand-in of the same',
          '# lengths is sent, and every result says so.',
        ]
      : []),
    'workloads:',
    ...workloads.map((w) => `  - ${yamlValue(w)}`),
  ];
}

/** A value in YAML on one line. */
const yamlValue = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: true }).trim();

/** Engines as a user names them. */
function declaredBy(named: readonly string[], host: string): readonly DeclaredEngine[] {
  const problems: Problem[] = [];
  const known = allEngines.map(({ name }) => name).filter((name) => name !== 'external');
  const declared = named.map((text): DeclaredEngine => {
    const [name = '', version] = text.split('@', 2);
    if (!known.includes(name)) {
      problems.push({
        place: '--engines',
        message: `there is no engine “${name}”`,
        hint: `engines: ${known.join(', ')}`,
      });
    } else if (host !== 'local' && !version) {
      const hint = `for example --engines ${name}@VERSION`;
      problems.push({ place: '--engines', message: `${name} needs a version, since host ${host} installs it`, hint });
    }
    return { name, host, ...(version ? { version } : {}) };
  });
  if (named.length === 0) problems.push({ place: '--engines', message: 'names no engine', hint: known.join(', ') });
  if (problems.length > 0) throw new InputError(problems);
  return declared;
}

/** The engines that are installed here and can serve such a model; those for GPUs first. */
async function enginesHere(
  model: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<readonly DeclaredEngine[]> {
  const gguf = (await engineNamed('embedded').checkModel(model)).length === 0;
  const candidates = allEngines.filter(({ name }) => name !== 'external' && ggufEngines.has(name) === gguf);
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
      hint: 'install one, or name those to be used elsewhere: --engines vllm,sglang; a GGUF file needs no other engine',
    },
  ]);
}
