import type { Environment } from '../../engines/engine.ts';
import { gpuNamed } from '../../hardware/gpus.ts';
import { completeShape } from '../../hardware/model.ts';
import { modelNamed } from '../../hardware/models.ts';
import { configurationLabel } from '../../records/settings.ts';
import type { FinishedTrial } from '../../records/trial.ts';
import type { Observation } from '../../simulator/calibrate.ts';
import type { Load } from '../../simulator/simulate.ts';
import { openStore } from '../../store/store.ts';
import { modelShape } from '../../weights/shape.ts';
import { readRecords } from '../records-file.ts';
import { trialDir, workloadNamed } from '../trial.ts';

/** Observations, and what of a source is none, with the reason. */
export interface Gathered {
  readonly observations: readonly Observation[];
  readonly leftOut: readonly string[];
}

/** What was measured in a run, trial by trial: lengths and send times are those of its records. */
export async function observationsIn(runDir: string, environment: Environment, signal: AbortSignal): Promise<Gathered> {
  using store = openStore(runDir, { readonly: true });
  const { study, machine, simulated } = store.start();
  const nothing = (why: string): Gathered => ({ observations: [], leftOut: [`${runDir}: ${why}`] });
  if (simulated) return nothing('its figures are simulated');
  const [first = ''] = machine.gpus;
  const hardware = gpuNamed(first.split(',')[0] ?? '');
  if (hardware === null) return nothing(first === '' ? 'it ran on no GPU' : `nothing is known of its GPU, ${first}`);
  const found = (await modelShape(study.model, environment, signal)) ?? modelNamed(study.model)?.shape ?? null;
  const shape = found && completeShape(found);
  if (!shape) return nothing(`the shape of ${study.model} is not known`);

  const observations: Observation[] = [];
  const leftOut: string[] = [];
  for (const trial of store.finished()) {
    signal.throwIfAborted();
    const { summary, configuration, workload } = trial;
    if (trial.fate !== 'measured' || !summary) {
      leftOut.push(`${runDir}: trial ${trial.id}: ${trial.fate}`);
      continue;
    }
    observations.push({
      label: `${configurationLabel(configuration)} ${workload}`,
      deployment: { configuration, shape, hardware },
      load: await loadOf(trial, trialDir(runDir, trial.id), workloadNamed(study, workload).max_concurrency ?? null),
      measured: {
        totalTokensPerS: summary.totalTokenThroughput,
        meanTtftS: summary.latencies.ttft?.mean ?? null,
        meanTpotS: summary.latencies.tpot?.mean ?? null,
      },
    });
  }
  return { observations, leftOut };
}

/** With a limit of concurrency requests are sent when there is room, else when they were sent. */
async function loadOf({ summary }: FinishedTrial, dir: string, maxConcurrency: number | null): Promise<Load> {
  const { records } = await readRecords(dir);
  const ok = records.filter(({ outcome }) => outcome === 'ok').sort((a, b) => a.sendS - b.sendS);
  const firstS = ok[0]?.sendS ?? 0;
  const limited = maxConcurrency !== null && maxConcurrency < (summary?.asked ?? 0);
  return {
    arrivalsS: Float64Array.from(ok, ({ sendS }) => (limited ? 0 : sendS - firstS)),
    promptTokens: Int32Array.from(ok, (r) => Math.max(1, r.serverPromptTokens ?? r.promptTokens)),
    outputTokens: Int32Array.from(ok, (r) => Math.max(1, r.outputTokens)),
    cachedTokens: Int32Array.from(ok, (r) => r.cachedTokens ?? 0),
    maxConcurrency: limited ? maxConcurrency : null,
  };
}
