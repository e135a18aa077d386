import type { Configuration, Settings } from './settings.ts';

/**
 * One alternative of a stage. With an engine it starts from that engine's defaults; without one it changes the
 * configuration that earlier stages chose.
 */
export interface SpaceAlternative {
  readonly engine?: Pick<Configuration, 'engine' | 'version'>;
  readonly settings: Settings;
}

/** What a study searches: its stages, with the engines' versions filled in. */
export interface SearchSpace {
  readonly baseline: Configuration;
  readonly stages: readonly { readonly name: string; readonly alternatives: readonly SpaceAlternative[] }[];
}

/** The configuration that an alternative makes of `incumbent`. */
export const applyAlternative = (incumbent: Configuration, alternative: SpaceAlternative): Configuration =>
  alternative.engine
    ? { ...alternative.engine, settings: alternative.settings }
    : { ...incumbent, settings: { ...incumbent.settings, ...alternative.settings } };
