import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Proposal } from '../records/trial.ts';

/** What a strategy is told beside the trials. */
export interface StrategyContext {
  readonly study: StudySpec;
  readonly space: SearchSpace;
  /** No more stage trials may begin; decide with what there is. */
  readonly budgetSpent: boolean;
}

/**
 * Chooses what to measure next. It keeps no state of its own: a pure function of the stored trials, so a study that was
 * killed goes on from the store as if nothing had happened. The baseline has been measured before the first question.
 */
export interface Strategy {
  readonly name: string;
  /** One line for `--help`. */
  readonly description: string;
  /**
   * At most `n` proposals; an empty answer while something is running means "wait", otherwise "nothing more".
   *
   * @param running proposals that are being measured now and must not be proposed again
   */
  ask(
    context: StrategyContext,
    finished: readonly FinishedTrial[],
    running: readonly Proposal[],
    n: number,
  ): readonly Proposal[];
}
