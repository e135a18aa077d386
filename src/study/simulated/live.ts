import type { Command } from '../../hosts/host.ts';
import { type Configuration, engineLabel } from '../../records/settings.ts';
import type { StudySpec } from '../../records/study.ts';

/** The server that stands in for an engine of a simulated study whose loads are really sent: `servetune sim serve`. */
export function liveCommand(study: StudySpec, configuration: Configuration, port: number): Command {
  const { gpu, count } = study.hardware ?? { gpu: '', count: 1 }; // a simulated study was refused without it
  const settings = Object.entries(configuration.settings).flatMap(([name, value]) => ['--setting', `${name}=${value}`]);
  const about = ['--model', study.model, '--engine', engineLabel(configuration), '--gpu', gpu, '--gpus', String(count)];
  return { argv: ['npx', 'servetune', 'sim', 'serve', ...about, ...settings, '--port', String(port)], env: {} };
}
