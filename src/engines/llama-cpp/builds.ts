import { compareVersions } from '../../kit/versions.ts';

/**
 * Builds from which on llama-server has something. Its releases are numbered by build (`b7376`); since summer 2026 some
 * also have a version (`0.4.0`), and all of those are newer than every build that is named here. Where only the day of a
 * change is known, the build is one of the days after it.
 */
export const builds = {
  /** `-fa on|off|auto` instead of a bare `-fa`, and all layers on the GPU unless told otherwise (30 August 2025). */
  flashTakesValue: 'b6325',
  /** `--cache-ram`: prompts that left their slot are kept in the host's memory (October 2025). */
  hostCache: 'b6750',
  /** No `-np` means 4 slots that share one cache; it meant 1 slot before (November 2025). */
  fourSlots: 'b7000',
  /** `--fit`: unset arguments shrink to what fits the memory (15 December 2025). */
  fit: 'b7450',
  /** `--spec-type draft-simple`, `--spec-draft-n-max` and their like; `--draft-max` is refused (May 2026). */
  draftTypes: 'b9150',
} as const;

/** A version as far as it can be compared with builds: undefined, which counts as the newest, unless it is a build. */
export const buildOf = (version: string | undefined): string | undefined =>
  version !== undefined && /^b\d+$/.test(version) ? version : undefined;

export function hasBuild(version: string | undefined, since: string): boolean {
  const build = buildOf(version);
  return build === undefined || compareVersions(build, since) >= 0;
}

/**
 * Reads what `llama-server --version` prints: `version: 7376 (6b1ae5c)` is build b7376, `version: 0.4.0 (build 10700,
 * commit ...)` release 0.4.0, and `version: 0.4.1-dev (build 11118, commit ...)` build b11118, as its container images
 * are called too. A source tree without its history counts its builds from 1: there the version says more.
 */
export function versionIn(printed: string): string | undefined {
  const old = /^version: (\d+) \(/m.exec(printed);
  if (old) return `b${old[1]}`;
  const match = /^version: (\d+\.\d+[\w.+-]*)(?: \(build (\d+))?/m.exec(printed);
  if (!match) return undefined;
  const [, version = '', build] = match;
  return version.includes('-dev') && Number(build ?? 0) >= 1000 ? `b${build}` : version;
}
