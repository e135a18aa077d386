import type { Ask, Engine } from '../engines/engine.ts';
import { flagsSaid } from '../engines/mapping.ts';
import type { Problem } from '../kit/errors.ts';
import type { Settings } from '../records/settings.ts';

/** Reading the help of some engines imports half a machine-learning stack. */
const helpTimeoutS = 180;

/** All long flags that an engine's own help names; undefined where it cannot be asked, which is no reason to refuse. */
export async function flagsOf({ help }: Engine, ask: Ask): Promise<ReadonlySet<string> | undefined> {
  if (help === undefined) return undefined;
  const said = await ask(help, helpTimeoutS).catch(() => undefined);
  if (said === undefined || said.code !== 0) return undefined;
  const flags = new Set(`${said.stdout}\n${said.stderr}`.match(/(?<![\w-])--?[a-zA-Z][\w-]*/g) ?? []);
  return flags.size === 0 ? undefined : flags;
}

/** Settings whose flag the installed engine does not have; the place of each problem is the setting's name. */
export function unknownFlags(
  engine: Engine,
  settings: Settings,
  { version, flags }: { readonly version: string | undefined; readonly flags: ReadonlySet<string> },
): readonly Problem[] {
  if (engine.mapping === undefined) return [];
  return [...flagsSaid(engine.mapping, settings, version)].flatMap(([name, flag]) => {
    if (flags.has(flag)) return [];
    return [
      {
        place: name,
        message: `${engine.name} ${version ?? ''} does not have ${flag}: its own help does not name it`.replace(
          '  ',
          ' ',
        ),
        hint: 'leave the setting out, or use a version that has it',
      },
    ];
  });
}
