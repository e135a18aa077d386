/** A command line, one argument an entry, and its environment: what it adds, or (see `Host.wrap`) the whole of it. */
export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A command as a user would type it, one word an entry; what it adds to the environment goes through `env`. */
export const commandWords = ({ argv, env }: Command): readonly string[] => {
  const added = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return added.length === 0 ? argv : ['env', ...added, ...argv];
};

/**
 * Where and how an engine is started. A host turns the engine's command into the command that is really spawned
 * (`docker run ...`, `uv tool run ...`); starting, watching and stopping are `processes/`'s work, the same for all.
 */
export interface Host {
  readonly name: string;
  /** What a user's study says to get it: shown in `--help`. */
  readonly description: string;
  /**
   * `command.env` is the complete environment here, so that programs are looked up where the engine will run. Throws an
   * InputError when the program cannot be found, with the remedy.
   */
  wrap(command: Command): Command;
}
