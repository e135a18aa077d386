import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface LlamaAnswer {
  readonly description: string;
  readonly weights: number;
  readonly contextLength: number;
  readonly eos: number;
  /** Of the three special tokens, 8189 to 8191. */
  readonly endsAnswer: readonly boolean[];
  readonly prependsBos: boolean;
  readonly ids: readonly (readonly number[])[];
  readonly back: readonly string[];
  readonly answer: readonly number[];
}

const program = fileURLToPath(new URL('./llama.mjs', import.meta.url));

/** What llama.cpp makes of a model file; throws what it says when it does not load. In a process of its own. */
export function askLlama(
  path: string,
  { texts = [], prompt = 'Hello', count = 1 }: { texts?: readonly string[]; prompt?: string; count?: number },
): LlamaAnswer {
  const input = JSON.stringify({ texts, prompt, count });
  const output = execFileSync(process.execPath, [program, path], { input, maxBuffer: 2 ** 26 });
  return JSON.parse(output.toString('utf8')) as LlamaAnswer;
}
