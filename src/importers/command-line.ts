import type { ImportedWorkload } from '../records/imported.ts';

/** What a command line says about what it measured or served. */
export interface CommandFacts {
  /** The command, secrets hidden. */
  readonly command: string;
  readonly kind: 'load' | 'serving';
  readonly model: string | null;
  readonly backend: string | null;
  readonly workload: ImportedWorkload;
}

const loadPrograms =
  /\bvllm bench serve\b|\bmain bench serve\b|\bservetune bench serve\b|\bvllm-bench\b|\bbenchmark_serving(?:\.py)?\b|\bsglang\.bench_serving\b|\bguidellm\b/;
const servingPrograms =
  /\bvllm serve\b|\bvllm\.entrypoints\b|\bsglang\.launch_server\b|\bsglang serve\b|\btrtllm-serve\b|\bllama-server\b|\bservetune serve\b|\bvllm\/vllm-openai\b|\blmsysorg\/sglang\b/;
/** A prompt or comment sign, assignments, then a program; prose that names a program does not begin with it. */
const beginsLikeCommand =
  /^(?:[$%>#]\s+)?(?:(?:sudo|env|nohup|time)\s+|[A-Za-z_]\w*=\S*\s+)*(?:\S*python[\d.]*\s|(?:\S*\/)?(?:vllm|sglang|trtllm-serve|llama-server|servetune|vllm-bench|guidellm|docker|uv|npx)\s)/;

/**
 * Reads a line (continuations joined) that may be a load or a serving command; undefined when it is neither. Only what
 * it says is taken: an option that is not there has the default of a version that nobody told.
 */
export function commandFacts(line: string): CommandFacts | undefined {
  const text = line.trim();
  if (!beginsLikeCommand.test(text)) return undefined;
  const kind = loadPrograms.test(text) ? 'load' : servingPrograms.test(text) ? 'serving' : undefined;
  // A heading may begin with a program's name; a command after a comment sign has options.
  if (kind === undefined || (text.startsWith('#') && !/\s--\w/.test(text))) return undefined;
  const command = text.replace(/^[$%>#]\s+/, '');
  const words = wordsOf(command);
  const options = optionsOf(words);
  const model =
    options.get('model') ?? options.get('model-path') ?? (kind === 'serving' ? positionalModel(words) : undefined);
  return {
    command: withoutSecrets(command),
    kind,
    model: model ?? null,
    backend: kind === 'load' ? (options.get('backend') ?? null) : null,
    workload: workloadOf((name) => options.get(name)),
  };
}

/**
 * What vLLM prints as it begins: every option with its effective value, `Namespace(num_prompts=1000, ...)`. Its text
 * values can hold anything, so only the keys that are wanted are looked for.
 */
export function namespaceFacts(line: string): Omit<CommandFacts, 'command' | 'kind'> | undefined {
  if (!/\bNamespace\(/.test(line) || !/\bnum_prompts=/.test(line)) return undefined;
  const value = (name: string): string | undefined => {
    const found = new RegExp(`\\b${name.replaceAll('-', '_')}=(?:'([^']*)'|([^,'()]+))`).exec(line);
    const told = found?.[1] ?? found?.[2]?.trim();
    return told === 'None' ? undefined : told;
  };
  return { model: value('model') ?? null, backend: value('backend') ?? null, workload: workloadOf(value) };
}

function workloadOf(option: (name: string) => string | undefined): ImportedWorkload {
  const number = (...names: string[]): number | null => {
    const text = names.map(option).find((t) => t !== undefined);
    if (text === undefined) return null;
    const [, digits, thousand] = /^(\d+(?:\.\d+)?)([kK]?)$/.exec(text) ?? [];
    return digits === undefined ? null : Number(digits) * (thousand ? 1000 : 1);
  };
  const rate = option('request-rate');
  const dataset = option('dataset-name') ?? null;
  const own = dataset === null ? 'random' : dataset.replaceAll('_', '-');
  return {
    numPrompts: number('num-prompts', 'num-prompt'),
    requestRate: rate === 'inf' ? 'inf' : number('request-rate'),
    maxConcurrency: number('max-concurrency'),
    dataset,
    inputLen: number(`${own}-input-len`, 'input-len'),
    outputLen: number(`${own}-output-len`, 'output-len'),
  };
}

/** The words of a command line as a shell sees them, as far as quotes and escapes go. */
export function wordsOf(command: string): readonly string[] {
  const words: string[] = [];
  for (const [match] of command.matchAll(/(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+/g)) {
    words.push(
      match.replace(/\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/g, (_, escaped, single, double) => {
        return escaped ?? single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? '';
      }),
    );
  }
  return words;
}

function optionsOf(words: readonly string[]): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  words.forEach((word, i) => {
    const [, name, inline] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) return;
    const next = words[i + 1];
    const value = inline ?? (next !== undefined && !/^--?[A-Za-z]/.test(next) ? next : undefined);
    if (value !== undefined) options.set(name.replaceAll('_', '-'), value);
  });
  return options;
}

/** The model in `vllm serve MODEL`, `trtllm-serve MODEL` and their like. */
function positionalModel(words: readonly string[]): string | undefined {
  const program = words.findIndex((w) => w === 'serve' || /(?:^|\/)trtllm-serve$/.test(w));
  const next = words[program + 1] === 'serve' ? words[program + 2] : words[program + 1];
  return program < 0 || next === undefined || next.startsWith('-') ? undefined : next;
}

const secretName = /key|token|secret|password|passwd|authorization|cookie|credential/i;

/** Hides what a command must not hand on: values of key and token options, of headers and of such variables. */
function withoutSecrets(command: string): string {
  const value = `(?:'[^']*'|"[^"]*"|\\S+)`;
  return command
    .replace(new RegExp(`((?:^|[\\s'"])([A-Za-z_]\\w*)=)${value}`, 'g'), (all, begin: string, name: string) =>
      secretName.test(name) && !/tokens|tokenizer/i.test(name) ? `${begin}<redacted>` : all,
    )
    .replace(new RegExp(`(--(?:api[-_]key|hf[-_]token|token|password|secret)(?:=|\\s+))${value}`, 'gi'), '$1<redacted>')
    .replace(/(--headers?(?:=|\s+))(?:(?!--)\S+(\s*))+/gi, '$1<redacted>$2')
    .replace(/\b(?:hf_|sk-)[\w-]{8,}/g, '<redacted>');
}
