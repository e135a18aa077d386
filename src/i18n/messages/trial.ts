/** Texts about one trial. */
export interface TrialMessages {
  name(id: number): string;
  meanTtft(value: string): string;
  meanTpot(value: string): string;
  started(duration: string): string;
  /** Of a server that servetune does not start. */
  found(duration: string): string;
  warmed(duration: string): string;
  loaded(duration: string): string;
  excluded(reason: string): string;
  failed(id: number, fate: string): string;
  hint(text: string): string;
  logTail(lines: number): string;
  refusedBlock(id: number): string;
  effective(id: number): string;
  readonly effectiveCaption: string;
  readonly setting: string;
  /** Of a server that servetune does not start, in place of `start_failed`. */
  readonly notServing: string;
  /** What a failed configuration has otherwise than the one that it was made from. */
  changed(settings: string): string;
  changedSetting(name: string, from: string, to: string): string;
  readonly default: string;
  readonly fragment: string;
}
