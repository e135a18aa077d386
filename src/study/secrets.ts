import type { Environment } from '../engines/engine.ts';
import { hidden, hideDeep, hideSecrets, isSecretName, knownSecrets, secretsInEnvironment } from '../kit/secrets.ts';
import { shellQuote, shellWords } from '../kit/shell.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Trial } from '../records/trial.ts';
import type { RunStart, Store } from '../store/store.ts';

/** The secrets of a study: those that its file holds, which the run needs, and those of the environment. */
export interface StudySecrets {
  /** What is stored of the run's beginning. */
  concealStart(start: RunStart): RunStart;
  /** A trial as it is stored and shown. */
  conceal<T extends Trial | FinishedTrial>(trial: T): T;
  /** A store that holds none of them, and answers with settings and study as the file has them, so that a run can go on. */
  concealing(store: Store): Store;
}

/**
 * Finds the secrets of a study: the values of secret flags in `extra_args`, whatever looks like a key, and the values of
 * the environment's secret variables. In the settings and in the study, where the run needs them again, each has a mark
 * with its number (`<redacted-1>`), so that the same file gives it back; a key that was changed meanwhile is no change
 * of the study. In texts nothing remains of them.
 */
export function secretsOf(study: StudySpec, environment: Environment): StudySecrets {
  const marks = new Map<string, string>();
  const originals = new Map<string, string>();
  const mark = (secret: string): string => {
    const known = marks.get(secret) ?? `<redacted-${marks.size + 1}>`;
    marks.set(secret, known);
    originals.set(known, secret);
    return known;
  };
  hideDeep(
    study,
    (text) => {
      const marked = withMarks(text, mark);
      if (marked !== text) originals.set(marked, text);
      return marked;
    },
    mark,
  );
  const known = knownSecrets([...marks.keys(), ...secretsInEnvironment(environment)]);
  const markOrHide = (secret: string): string => marks.get(secret) ?? hidden;

  const marked = <T>(value: T): T => hideDeep(value, (text) => withMarks(text, markOrHide), markOrHide);
  const hideAll = <T>(value: T): T => hideDeep(value, (text) => hideSecrets(text, known));
  const original = (_: string, value: unknown): unknown =>
    typeof value === 'string' ? (originals.get(value) ?? value) : value;
  const restored = <T>(value: T): T =>
    originals.size === 0 ? value : (JSON.parse(JSON.stringify(value), original) as T);

  const conceal = <T extends Trial | FinishedTrial>(trial: T): T => {
    const { configuration, reason } = trial;
    const begun = { ...trial, configuration: marked(configuration), reason: hideAll(reason) };
    if (!('fate' in trial)) return begun;
    const { failure, summary, servingCommand, loadCommand, effectiveSettings } = trial as FinishedTrial;
    return {
      ...begun,
      servingCommand: marked(servingCommand),
      loadCommand: marked(loadCommand),
      ...(failure ? { failure: hideAll(failure) } : {}),
      ...(effectiveSettings ? { effectiveSettings: hideAll(effectiveSettings) } : {}),
      ...(summary
        ? { summary: { ...summary, errors: hideAll(summary.errors), warnings: hideAll(summary.warnings) } }
        : {}),
    };
  };
  const reveal = <T extends Trial>(trial: T): T => ({ ...trial, configuration: restored(trial.configuration) });

  return {
    conceal,
    concealStart: (start) => ({
      ...start,
      study: marked(start.study),
      studyText: hideSecrets(start.studyText, known, markOrHide),
      space: marked(start.space),
    }),
    concealing: (store) => ({
      ...store,
      start() {
        const start = store.start();
        return { ...start, study: restored(start.study), space: restored(start.space) };
      },
      begin: (trial) => store.begin(conceal(trial)),
      finish: (trial) => store.finish(conceal(trial)),
      finished: () => store.finished().map(reveal),
      running: () => store.running().map(reveal),
      forgetRunning: () => store.forgetRunning().map(reveal),
    }),
  };
}

/** A text with each secret replaced; flags are told apart as a shell would, where the text is a line of them. */
function withMarks(text: string, mark: (secret: string) => string): string {
  const words = text.includes('--') ? shellWords(text) : null;
  if (!words?.some((word) => isSecretName(word.split('=', 1)[0] as string) && word.startsWith('--'))) {
    return hideSecrets(text, [], mark);
  }
  const hiding = hideDeep(words, (word) => hideSecrets(word, [], mark), mark);
  return hiding.every((word, i) => word === words[i]) ? text : hiding.map(shellQuote).join(' ');
}
