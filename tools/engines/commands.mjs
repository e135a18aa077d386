// Every command that servetune makes for a release: its default stages on cards that differ in what they can do, and
// the studies in examples/. Needs neither the engines nor a GPU.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/', import.meta.url);
const load = (path) => import(new URL(path, dist).href);
const examples = fileURLToPath(new URL('../../examples/', import.meta.url));

/** Name, compute capability x 10 and memory of real cards; none is the CPU. */
const cards = [
  [],
  ['Tesla T4', 75, 15360],
  ['NVIDIA A100-SXM4-80GB', 80, 81920],
  ['NVIDIA L40S', 89, 46068],
  ['NVIDIA H100 80GB HBM3', 90, 81559],
  ['NVIDIA B200', 100, 183359],
];

const gpusOf = ([name, computeCapability, memoryMiB], count) =>
  name === undefined
    ? []
    : Array.from({ length: count }, (_, index) => ({
        vendor: 'nvidia',
        index,
        uuid: `GPU-${index}`,
        driver: '580.159.04',
        powerLimitW: null,
        name,
        computeCapability,
        memoryMiB,
      }));

/** Qwen/Qwen3-14B. */
const shape = {
  attentionHeads: 40,
  kvHeads: 8,
  layers: 40,
  hiddenSize: 5120,
  maxPositions: 40960,
  experts: 0,
  quantization: null,
};

/** Argument lists, each once, with what is added for measuring. */
export async function commandsOf(name, version, model = 'Qwen/Qwen3-14B') {
  const { engineNamed } = await load('study/places.js');
  const { measuringOf, servingCommandOf } = await load('study/running-engine.js');
  const engine = engineNamed(name);
  const found = new Map();
  const add = (at, study, settings) => {
    const configuration = { engine: name, version, settings };
    const { argv } = servingCommandOf(engine, study, configuration, 8000);
    const whole = [...argv, ...measuringOf(engine, study, configuration, 8000).argv];
    if (!found.has(whole.join('\n'))) found.set(whole.join('\n'), { at, argv: whole });
  };
  for (const card of cards) {
    for (const count of card.length === 0 ? [0] : [1, 4]) {
      for (const concurrency of [16, 1000]) {
        const facts = { model, version, concurrency, gpus: gpusOf(card, count), shape };
        add('as shipped', { model }, {});
        let chosen = {};
        for (const stage of engine.defaultStages?.(facts) ?? []) {
          const possible = stage.alternatives.filter((own) => engine.conflicts({ ...own }, facts).length === 0);
          for (const own of possible) add(`default stage ${stage.name}`, { model }, own);
          const together = { ...chosen, ...possible.at(-1) };
          if (engine.conflicts(together, facts).length > 0) continue;
          chosen = together;
          add(`default stages up to ${stage.name}`, { model }, chosen);
        }
      }
    }
  }
  for (const [file, study, settings] of await exampleConfigurations(name, model)) add(file, study, settings);
  return [...found.values()];
}

/** Settings of every configuration of an example that this engine serves, whatever release the example names. */
async function exampleConfigurations(name, model) {
  const { readStudy } = await load('study/read.js');
  const { resolveStudy } = await load('study/resolve.js');
  const { spanned } = await load('study/span.js');
  const rows = [];
  for (const file of readdirSync(examples).filter((one) => one.endsWith('.yaml'))) {
    const read = readStudy(join(examples, file));
    const study = { ...read.study, model };
    if (!study.engines.some((one) => (typeof one === 'string' ? one : one.name).split('@')[0] === name)) continue;
    // A dry run: engines need not be here.
    const given = { ...read, study };
    const space = await resolveStudy(given, {}, AbortSignal.timeout(60_000), { mustBeInstalled: false });
    for (const { configuration } of spanned(space)) {
      if (configuration.engine === name) rows.push([file, study, configuration.settings]);
    }
  }
  return rows;
}
