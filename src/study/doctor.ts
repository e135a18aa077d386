import type { Environment } from '../engines/engine.ts';
import { diskFindings } from './doctor/disk.ts';
import { engineFindings, type FoundEngine } from './doctor/engines.ts';
import { engineVariableFindings, hubFindings, proxyFindings } from './doctor/environment.ts';
import type { Finding } from './doctor/finding.ts';
import { gpuFindings } from './doctor/gpus.ts';
import { leftoverFindings } from './doctor/leftovers.ts';
import { limitFindings } from './doctor/limits.ts';
import { modelFindings } from './doctor/model.ts';
import { studyFindings } from './doctor/study.ts';
import { systemFindings } from './doctor/system.ts';
import { declaredEngine } from './places.ts';
import type { StudyFile } from './read.ts';

/** Findings about one part of the machine. */
export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

/** What is here, and what would stop a study. */
export interface Examination {
  /** An engine works here, and nothing was found that would stop or falsify a study. */
  readonly ready: boolean;
  readonly engines: readonly FoundEngine[];
  readonly sections: readonly Section[];
}

/**
 * Looks at this machine as a study would meet it. Engines are asked for their versions, which takes those that are written
 * in Python up to half a minute; nothing is loaded onto a GPU and nothing is changed.
 *
 * @throws the signal's reason
 */
export async function examine({
  environment,
  signal,
  model,
  study,
  onLook = () => {},
}: {
  readonly environment: Environment;
  readonly signal: AbortSignal;
  /** A model that is to be served here. */
  readonly model?: string;
  /** A study that is to run here: its own engines count, and its model. */
  readonly study?: StudyFile;
  /** Told what is being looked at. */
  onLook?(what: string): void;
}): Promise<Examination> {
  onLook('GPUs');
  const { gpus, findings: gpu } = await gpuFindings(environment, signal);
  const gpuCount = gpus.length;
  onLook('engines');
  const { found, findings: engines } = await engineFindings(environment, signal, {
    gpuCount,
    needsOne: study === undefined,
  });
  onLook('limits');
  // Where there is a GPU, uv or Docker may bring one.
  const pythonEngines = gpuCount > 0 || found.some(({ name }) => name !== 'embedded' && name !== 'llama.cpp');
  const sections: Section[] = [
    { title: 'GPU', findings: [...gpu, ...leftoverFindings('runs')] },
    { title: 'Engines', findings: engines },
    { title: 'Limits', findings: await limitFindings(gpuCount) },
    { title: 'Disk', findings: diskFindings(environment, { gpuCount }) },
    {
      title: 'Environment',
      findings: [
        ...proxyFindings(environment, { pythonEngines }),
        ...engineVariableFindings(environment),
        ...(await hubFindings(environment)),
      ],
    },
    { title: 'System', findings: await systemFindings(environment, signal) },
  ];
  if (study !== undefined) {
    onLook('the engines of the study');
    sections.push({ title: 'Study', findings: await studyFindings(study, { environment, signal, gpus }) });
  }
  const wanted = model ?? (study?.study.engines.every(isServed) === false ? study.study.model : undefined);
  if (wanted !== undefined) {
    onLook(wanted);
    sections.push({ title: 'Model', findings: await modelFindings(wanted, { environment, signal, gpus }) });
  }
  const works = study !== undefined || found.some((engine) => engine.works);
  const clear = sections.every(({ findings }) => findings.every(({ mark }) => mark !== 'problem'));
  return { ready: works && clear, engines: found, sections };
}

/** An entry of a study that names a server which runs already: it brings its model. */
const isServed = (entry: StudyFile['study']['engines'][number]): boolean => declaredEngine(entry).url !== undefined;
