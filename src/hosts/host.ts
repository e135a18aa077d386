import { shellCommand, shellQuote } from '../kit/shell.ts';

/** A command line, one argument an entry, and its environment: what it adds, or (see `Host.wrap`) the whole of it. */
export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files that it reads, by name, in the folder in which it runs: TensorRT-LLM's options. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * A command as a user would type it, one word an entry; what it adds to the environment goes through `env`. One that reads
 * files becomes a line of the shell that writes them first, so that it can be pasted as it stands.
 */
export function commandWords({ argv, env, files = {} }: Command): readonly string[] {
  const added = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = added.length === 0 ? argv : ['env', ...added, ...argv];
  const written = Object.entries(files);
  if (written.length === 0) return words;
  const documents = written.map(([name, text]) => `cat > ${shellQuote(name)} <<'END'\n${text.trimEnd()}\nEND\n`);
  return ['sh', '-c', `${documents.join('')}exec ${shellCommand(words)}`];
}

/** What a host needs to know of the engine that it starts, besides its command. */
export interface Place {
  readonly engine: string;
  readonly version?: string;
  /** It is a Python package, so that its environment may have to be activated. */
  readonly isPython?: boolean;
  /** Interpreter of the virtual environment that the engine is installed in: `/opt/vllm/bin/python`. */
  readonly python?: string;
  /** Container image; the engine's own for that version, unless a study names another. */
  readonly image?: string;
  /** What `uv` installs; the engine's own packages for that version. */
  readonly packages?: readonly string[];
  /** The GPUs that it may use, by UUID; absent: all. */
  readonly gpus?: readonly string[];
  /** Folder of the trial: absolute. The command runs there, and its files are there. */
  readonly dir?: string;
}

/** A command as a host starts it. */
export interface HostedCommand extends Command {
  /**
   * Ends what is no descendant of the command's process, and so outlives it when it is killed: a container. Does nothing
   * when there is nothing left. Called after the process has ended, however it ended.
   */
  release?(): Promise<void>;
  /**
   * Number of the first process of what is no descendant of the command's process, where this machine's table of
   * processes shows it; undefined where that is not known.
   */
  firstProcess?(): Promise<number | undefined>;
}

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
  wrap(command: Command, place: Place): HostedCommand;
  /**
   * The same as a user would type it, with programs by their names and without what only watching needs. Nothing is looked
   * up or made, so that it can be shown on another machine. `command.env` is what the command adds, `environment` the rest.
   */
  shown(command: Command, place: Place, environment: Command['env']): Command;
  /** Fetches what it needs to start an engine there, a step of its own that may take long; absent: nothing. */
  prepare?(place: Place, environment: Command['env'], signal: AbortSignal): Promise<void>;
  /** Ends what an earlier process left behind in the folder of a trial and could not end itself. */
  endLeftIn?(dir: string, environment: Command['env']): Promise<boolean>;
  /** What exactly ran in that folder, where the place alone does not tell: the digest of an image. */
  ranIn?(dir: string): string | undefined;
}
