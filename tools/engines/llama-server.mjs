// llama.cpp's own server: built from the sources that the npm package node-llama-cpp carries, so that nothing but the npm
// registry is needed.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { commandsOf } from './commands.mjs';
import { ggufModel } from './models.mjs';
import { must, NotHere, outputOf, root, study } from './steps.mjs';

const sources = 'node-llama-cpp@3.21.1';

/** Folder of the `llama-server` to use: the one named, else the one built here, else the one on PATH. */
function folderOf({ work, server }) {
  const built = server ?? join(work, 'llama.cpp', 'build', 'bin');
  if (existsSync(join(built, 'llama-server'))) return built;
  const onPath = (process.env.PATH ?? '').split(':').find((folder) => existsSync(join(folder, 'llama-server')));
  if (onPath !== undefined) return onPath;
  throw new NotHere('no llama-server: build it with --build, or name its folder with --server');
}

/** About 10 minutes on two cores. */
export async function build({ work }) {
  const folder = join(work, 'llama.cpp');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'src', 'CMakeLists.txt'))) {
    await must(['npm', 'pack', sources], { cwd: folder });
    const packed = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    await must(['tar', 'xzf', packed], { cwd: folder });
    await must(['git', 'clone', '--quiet', join('package', 'llama', 'gitRelease.bundle'), 'src'], { cwd: folder });
  }
  const off = ['BUILD_TESTS', 'BUILD_EXAMPLES', 'BUILD_APP', 'USE_PREBUILT_UI', 'OPENSSL'].map(
    (o) => `-DLLAMA_${o}=OFF`,
  );
  await must(['cmake', '-S', 'src', '-B', 'build', '-DCMAKE_BUILD_TYPE=Release', ...off], { cwd: folder });
  // Without a number `make` starts every compiler at once, and the machine runs out of memory.
  const jobs = String(availableParallelism());
  await must(['cmake', '--build', 'build', '--target', 'llama-server', '--parallel', jobs], { cwd: folder });
  return join(folder, 'build', 'bin');
}

/** Everything before `--version` is parsed, in this order, and nothing is loaded. */
export async function parse(options) {
  const program = join(folderOf(options), 'llama-server');
  const model = await ggufModel(join(options.work, 'models'));
  const { engineNamed } = await import('../../dist/study/places.js');
  const { runToEnd } = await import('../../dist/processes/run.js');
  const ask = ([, ...args], timeoutS) => runToEnd([program, ...args], { env: process.env, timeoutS });
  const version = await engineNamed('llama.cpp').version(ask);
  const commands = await commandsOf('llama.cpp', version, model);
  const refused = [];
  for (const { at, argv } of commands) {
    try {
      outputOf([program, ...argv.slice(1), '--version']);
    } catch (error) {
      refused.push({ at, argv, error: error.message });
    }
  }
  return { version, count: commands.length, refused };
}

/** `examples/llama-server.yaml` on the model that servetune makes. */
export async function tune(options) {
  const path = `${folderOf(options)}:${process.env.PATH}`;
  const model = await ggufModel(join(options.work, 'models'));
  const file = join(options.work, 'llama-server.yaml');
  const text = readFileSync(join(root, 'examples', 'llama-server.yaml'), 'utf8');
  writeFileSync(file, text.replace(/^model: .*$/m, `model: ${model}`));
  return await study(file, join(options.work, 'runs', 'llama-server'), { PATH: path });
}
