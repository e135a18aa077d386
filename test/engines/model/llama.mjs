/**
 * Loads a model file with llama.cpp itself and answers what it makes of it, so that the tests do not have to believe
 * our own reading. `node llama.mjs MODEL` takes JSON from standard input, `{ texts, prompt, count }`, and prints JSON:
 * what the model calls itself, the token ids of each text, and `count` tokens that follow the prompt (most probable ones).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { texts, prompt, count } = JSON.parse(readFileSync(0, 'utf8'));
const system = { linux: 'linux', darwin: 'mac' }[process.platform];
const { getBinsDir } = await import(
  `@node-llama-cpp/${system}-${process.arch}${system === 'mac' && process.arch === 'arm64' ? '-metal' : ''}`
);
const { binsDir } = getBinsDir();
const folder = join(binsDir, readdirSync(binsDir)[0]);
const llama = createRequire(import.meta.url)(join(folder, 'llama-addon.node'));
let log = '';
llama.markLoaded();
llama.setLogger((_level, message) => {
  log += message;
});
llama.loadBackends();
llama.loadBackends(folder);
await llama.init();

const model = new llama.AddonModel(process.argv[2], { addonExports: llama, gpuLayers: 0 });
if (!(await model.init())) {
  await new Promise((done) => setTimeout(done, 200));
  throw new Error(`llama.cpp does not load the model: ${log}`);
}
const ids = texts.map((text) => [...model.tokenize(text, true)]);
const context = new llama.AddonContext(model, { contextSize: 512, batchSize: 256, sequences: 1, threads: 1 });
await context.init();
const sampler = new llama.AddonSampler(model);
sampler.applyConfig({ temperature: 0 });
const answer = [];
let next = [...model.tokenize(prompt, true)];
for (let at = 0; answer.length < count; ) {
  context.initBatch(next.length);
  const [logits] = context.addToBatch(0, at, Uint32Array.from(next), Uint32Array.of(next.length - 1));
  at += next.length;
  await context.decodeBatch();
  next = [await context.sampleToken(logits, sampler)];
  answer.push(next[0]);
}
process.stdout.write(
  JSON.stringify({
    description: model.getModelDescription(),
    weights: model.getTotalParameters(),
    contextLength: model.getTrainContextSize(),
    eos: model.tokenEos(),
    endsAnswer: [8189, 8190, 8191].map((id) => model.isEogToken(id)),
    prependsBos: model.shouldPrependBosToken(),
    ids,
    back: ids.map((tokens) => model.detokenize(Uint32Array.from(tokens), true)),
    answer,
  }),
);
process.exit(0);
