/** Texts about the stages and what was decided in them. */
export interface StagesMessages {
  readonly heading: string;
  readonly nothing: string;
  readonly baseline: string;
  stage(number: number, name: string): string;
  incumbent(label: string): string;
  readonly servingCommand: string;
  tableCaption(stage: string, noise: string): string;
  /** Runs that count, of all. */
  runsOf(counted: number, all: number): string;
  readonly againstIncumbent: string;
  readonly incumbentMark: string;
  result(ranking: string): string;
  readonly tiedLegend: string;
  chosen(label: string): string;
  better(label: string, change: string, interval: string): string;
  /** The comparison that decided the stage, judged by the noise of the whole run: covered by it, or clear of it. */
  laterCovered(label: string, change: string, noise: string, interval: string): string;
  laterClear(label: string, change: string, noise: string, interval: string): string;
  readonly noDifference: string;
  readonly worse: string;
  readonly noneQualified: string;
  readonly notTried: string;
  readonly nothingToTry: string;
  readonly pending: string;
  readonly others: string;
}
