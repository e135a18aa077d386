import type { Engine } from '../engines/engine.ts';
import type { FinishedTrial } from '../records/trial.ts';

/** Log lines that are kept with a failed trial. */
export const keptLogLines = 40;

/** What a failed trial's row says. */
export interface Failure {
  readonly fate: Exclude<FinishedTrial['fate'], 'measured'>;
  readonly failure: NonNullable<FinishedTrial['failure']>;
  /** Another program was faster to the port: worth another try on another one. */
  readonly portTaken?: boolean;
}

/**
 * Gives a failure its name: a symptom of the engine that its log shows, else the fate that the moment suggests. The
 * message quotes the log line that matched, or the engine's last words.
 */
export function classify(
  engine: Engine,
  otherwise: { readonly fate: Failure['fate']; readonly message: string; readonly hint?: string },
  logTail: readonly string[],
): Failure {
  for (const symptom of engine.symptoms) {
    // The root cause is printed before what wraps it: the first match tells more than the last.
    const line = logTail.find((l) => symptom.pattern.test(l));
    if (line === undefined) continue;
    const fate =
      otherwise.fate === 'crashed_under_load' && symptom.fate === 'start_failed' ? otherwise.fate : symptom.fate;
    return {
      fate,
      failure: {
        message: `${otherwise.message}: ${line.trim()}`,
        logTail: logTail.slice(-keptLogLines),
        hint: symptom.hint,
      },
      ...(symptom.portTaken ? { portTaken: true } : {}),
    };
  }
  const { fate, message, hint } = otherwise;
  return { fate, failure: { message, logTail: logTail.slice(-keptLogLines), ...(hint === undefined ? {} : { hint }) } };
}
