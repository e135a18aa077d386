import type { Problem } from '../kit/errors.ts';
import { compareVersions } from '../kit/versions.ts';
import type { Settings, SettingValue } from '../records/settings.ts';

/** The versions in which something is so: from `since` on, up to and without `before`. */
export interface Versions {
  readonly since?: string;
  readonly before?: string;
}

/** The engine's own word for a value. Absent: the value as it stands. */
type Say = (value: SettingValue) => SettingValue | readonly SettingValue[] | object;

/**
 * How a setting is said to an engine, in some of its versions: a flag with a value (a list is several words), a flag that
 * stands alone for true or for false, a variable of the environment, a key of the engine's options file (dotted), or a key
 * of a flag that takes JSON.
 */
export type Way = Versions & { readonly say?: Say } & (
    | { readonly flag: string }
    | { readonly on?: string; readonly off?: string }
    | { readonly env: string }
    | { readonly option: string }
    | { readonly json: string; readonly key: string }
  );

/** Every setting that an engine has, with the ways in which it is said; of several the first that its version knows. */
export type Mapping = Readonly<Record<string, Way | readonly Way[]>>;

/** What some settings come to. */
export interface Said {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For the engine's options file: nested as the dots say. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Says settings to a version of an engine, in the order of the mapping; one that is not known counts as the newest. */
export function say(mapping: Mapping, settings: Settings, version: string | undefined): Said {
  const argv: string[] = [];
  const env: Record<string, string> = {};
  const options: Record<string, unknown> = {};
  const json = new Map<string, Record<string, unknown>>();
  for (const name of Object.keys(mapping)) {
    const value = settings[name];
    const way = value === undefined ? undefined : wayOf(mapping, name, version);
    if (value === undefined || way === undefined) continue;
    const said = way.say ? way.say(value) : value;
    if ('flag' in way) argv.push(way.flag, ...(Array.isArray(said) ? said.map(String) : [String(said)]));
    else if ('env' in way) env[way.env] = String(said);
    else if ('option' in way) setPath(options, way.option, said);
    else if ('json' in way) {
      const object = json.get(way.json) ?? {};
      json.set(way.json, object);
      setPath(object, way.key, said);
    } else {
      const word = said ? way.on : way.off;
      if (word !== undefined) argv.push(word);
    }
  }
  for (const [flag, object] of json) argv.push(flag, JSON.stringify(object));
  return { argv, env, options };
}

/** Settings that this version of the engine does not have; the place of each problem is the setting's name. */
export function missing(
  mapping: Mapping,
  settings: Settings,
  { name: engine, version }: { readonly name: string; readonly version: string | undefined },
): readonly Problem[] {
  return Object.keys(settings).flatMap((name) => {
    if (!(name in mapping) || wayOf(mapping, name, version) !== undefined) return [];
    const spans = waysOf(mapping, name).map(({ since, before }) =>
      [since && `from ${since} on`, before && `before ${before}`].filter(Boolean).join(' and '),
    );
    return [
      {
        place: name,
        message: `${engine} ${version} does not have it: it exists ${spans.join(', or ')}`,
        hint: `leave it out, or use such a version of ${engine}`,
      },
    ];
  });
}

/** The flags that a command says settings with, to be looked up in the engine's own help. */
export function flagsSaid(
  mapping: Mapping,
  settings: Settings,
  version: string | undefined,
): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const [name, value] of Object.entries(settings)) {
    const way = name in mapping ? wayOf(mapping, name, version) : undefined;
    if (way === undefined) continue;
    const flag = flagIn(way, value);
    // One word may hold the value as well.
    if (flag !== undefined) flags.set(name, flag.replace(/=.*/, ''));
  }
  return flags;
}

function flagIn(way: Way, value: SettingValue): string | undefined {
  if ('flag' in way) return way.flag;
  if ('json' in way) return way.json;
  if ('env' in way || 'option' in way) return undefined;
  return value ? way.on : way.off;
}

const waysOf = (mapping: Mapping, name: string): readonly Way[] => [mapping[name] ?? []].flat();

function wayOf(mapping: Mapping, name: string, version: string | undefined): Way | undefined {
  return waysOf(mapping, name).find((way) => inVersions(way, version));
}

/** Whether a version is among these; one that is not known counts as the newest. */
export function inVersions({ since, before }: Versions, version: string | undefined): boolean {
  if (version === undefined) return before === undefined;
  if (since !== undefined && compareVersions(version, since) < 0) return false;
  return before === undefined || compareVersions(version, before) < 0;
}

function setPath(object: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() as string;
  let at = object;
  for (const key of keys) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  at[last] = value;
}
