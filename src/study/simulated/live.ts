import { fileURLToPath } from 'node:url';
import type { Command } from '../../hosts/host.ts';
import { type Configuration, engineLabel } from '../../records/settings.ts';
import type { StudySpec } from '../../records/study.ts';
import { bareCalibration } from '../predict/calibration.ts';

/** The same file from `src/` and from `dist/`. A trial runs in its own folder, where `npx` would find nothing. */
const program = fileURLToPath(new URL('../../../bin/servetune.cjs', import.meta.url));
const calibrationName = 'calibration.json';

/** The server that stands in for an engine of a simulated study whose loads are really sent: `servetune sim serve`. */
export function liveCommand(study: StudySpec, configuration: Configuration, port: number): Command {
  const { gpu, count, parameters } = study.hardware ?? { gpu: '', count: 1 }; // a simulated study was refused without it
  const settings = Object.entries(configuration.settings).flatMap(([name, value]) => ['--setting', `${name}=${value}`]);
  const about = ['--model', study.model, '--engine', engineLabel(configuration), '--gpu', gpu, '--gpus', String(count)];
  const fitted = parameters === undefined ? [] : ['--calibration', calibrationName];
  return {
    argv: [process.execPath, program, 'sim', 'serve', ...about, ...settings, ...fitted, '--port', String(port)],
    env: {},
    ...(parameters === undefined ? {} : { files: { [calibrationName]: bareCalibration(parameters) } }),
  };
}
