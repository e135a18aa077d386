import type { ChatMessage } from '../../tokenizers/chat-template.ts';
import { isObject, type JsonObject } from './json-lines.ts';

/** What a row says. */
export interface Reading {
  readonly messages: readonly ChatMessage[];
  /** The recorded answer, whose length the model's own answer shall have. */
  readonly answer: string | null;
}

/** How rows of one shape become prompts. */
export interface Recipe {
  /** The columns that rows have, for people. */
  readonly columns: string;
  /** Whether a row has this shape. */
  fits(row: JsonObject): boolean;
  /** The row's texts; null when one of them is missing. */
  read(row: JsonObject): Reading | null;
  /** Whether the prompt stands in the chat template: `unless_skipped` by `--skip-chat-template`. */
  readonly template: 'never' | 'unless_skipped' | 'always';
  /** Output tokens without `--hf-output-len`: a number, or as many as the recorded answer has. */
  readonly outputTokens: number | 'answer';
  /** Lengths in tokens within which a row is taken, ends included; `always`: also with `--hf-output-len`. */
  readonly limits?: {
    readonly fewest: number;
    readonly prompt: number;
    readonly total: number;
    readonly always: boolean;
  };
}

const text = (value: unknown): string | null => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const parts = value.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : null));
  return parts.length === 0 || parts.includes(null) ? null : parts.join('');
};

const has = (row: JsonObject, ...columns: readonly string[]): boolean =>
  columns.every((column) => row[column] !== undefined && row[column] !== null);

/** One user message, and the answer in one of the columns. */
function reading(prompt: unknown, answer?: unknown): Reading | null {
  const content = text(prompt);
  return content === null ? null : { messages: [{ role: 'user', content }], answer: text(answer) };
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const saidIn = (turn: unknown): unknown => (isObject(turn) ? (turn.value ?? turn.content) : undefined);

const conversations: Recipe = {
  columns: 'conversations',
  fits: (row) => Array.isArray(row.conversations),
  read: ({ conversations: turns }) =>
    list(turns).length < 2 ? null : reading(saidIn(list(turns)[0]), saidIn(list(turns)[1])),
  template: 'never',
  outputTokens: 'answer',
  limits: { fewest: 4, prompt: 1024, total: 2048, always: false },
};

/** Everything before the first answer; a later turn would need that answer. */
const messages: Recipe = {
  columns: 'messages',
  fits: (row) => Array.isArray(row.messages),
  read({ messages: turns }) {
    const all = list(turns).map((turn) =>
      isObject(turn) && typeof turn.role === 'string' ? { role: turn.role, content: text(turn.content) } : null,
    );
    const end = all.findIndex((turn) => turn?.role === 'assistant');
    const before = end === -1 ? all : all.slice(0, end);
    const said = before.flatMap((turn) =>
      turn && turn.content !== null ? [{ role: turn.role, content: turn.content }] : [],
    );
    if (said.length === 0 || said.length < before.length) return null;
    return { messages: said, answer: end === -1 ? null : (all[end]?.content ?? null) };
  },
  template: 'unless_skipped',
  outputTokens: 'answer',
};

const systemAndQuestion: Recipe = {
  columns: 'system_prompt, question, output',
  fits: (row) => has(row, 'system_prompt', 'question', 'output'),
  read({ system_prompt: system, question, output }) {
    const [content, asked] = [text(system), reading(question, output)];
    return content === null || !asked ? null : { ...asked, messages: [{ role: 'system', content }, ...asked.messages] };
  },
  template: 'always',
  outputTokens: 'answer',
  limits: { fewest: 4, prompt: 1024, total: 2048, always: true },
};

const instruction: Recipe = {
  columns: 'instruction, output',
  fits: (row) => has(row, 'instruction', 'output'),
  read: ({ instruction: task, input, output }) =>
    reading(
      typeof task === 'string' && typeof input === 'string' && input !== '' ? `${task}\n\n${input}` : task,
      output,
    ),
  template: 'unless_skipped',
  outputTokens: 'answer',
};

const question: Recipe = {
  columns: 'question, answer',
  fits: (row) => has(row, 'question', 'answer'),
  read: (row) => reading(row.question, row.answer),
  template: 'unless_skipped',
  outputTokens: 'answer',
};

const problem: Recipe = {
  columns: 'problem, solution',
  fits: (row) => has(row, 'problem', 'solution'),
  read: (row) => reading(row.problem, row.solution),
  template: 'never',
  outputTokens: 'answer',
  limits: { fewest: 4, prompt: 2048, total: 32_000, always: false },
};

const turns: Recipe = {
  columns: 'turns',
  fits: (row) => Array.isArray(row.turns),
  read: (row) => reading(list(row.turns)[0]),
  template: 'unless_skipped',
  outputTokens: 256,
};

const prompt: Recipe = {
  columns: 'prompt, completion',
  fits: (row) => has(row, 'prompt'),
  read: (row) => reading(row.prompt, row.completion ?? row.response ?? row.answer ?? row.output),
  template: 'unless_skipped',
  outputTokens: 'answer',
};

/** Shapes that are known by their columns, the most telling first. */
export const recipes: readonly Recipe[] = [
  conversations,
  messages,
  systemAndQuestion,
  instruction,
  question,
  problem,
  turns,
  prompt,
];

/** `likaixin/InstructCoder`, with the sentence that vLLM puts behind each task. */
const instructCoder: Recipe = {
  ...instruction,
  columns: 'input, instruction',
  fits: (row) => has(row, 'input', 'instruction'),
  read({ input, instruction: task }) {
    const [code, wanted] = [text(input), text(task)];
    if (code === null || wanted === null) return null;
    return reading(`${code}\n\n${wanted} Just output the code, do not include any explanation.`);
  },
  outputTokens: 200,
};

/** Data sets by their name on the hub, as `vllm bench serve` reads them. */
export const namedRecipes: ReadonlyMap<string, Recipe> = new Map(
  Object.entries({
    'Aeala/ShareGPT_Vicuna_unfiltered': conversations,
    'likaixin/InstructCoder': instructCoder,
    'philschmid/mt-bench': turns,
    'openai/openai_humaneval': { ...prompt, columns: 'prompt', outputTokens: 256 },
    'openai/gsm8k': { ...question, columns: 'question', fits: (row) => has(row, 'question'), outputTokens: 256 },
    'AI-MO/aimo-validation-aime': problem,
    'AI-MO/NuminaMath-1.5': problem,
    'AI-MO/NuminaMath-CoT': problem,
    'mgoin/mlperf-inference-llama2-data': systemAndQuestion,
    'mgoin/mlperf-inference-llama3.1-data': systemAndQuestion,
  }),
);

const mediaColumns = ['image', 'images', 'image_files', 'image_url', 'audio', 'audios', 'video', 'videos'];

/** Whether a row holds more than text. */
export function hasMedia(row: JsonObject): boolean {
  const present = (value: unknown): boolean =>
    value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
  if (mediaColumns.some((column) => present(row[column]))) return true;
  return [row.messages, row.conversations]
    .flatMap(list)
    .flatMap((turn) => (isObject(turn) ? list(turn.content) : []))
    .some((part) => isObject(part) && part.type !== 'text');
}
