import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll } from 'vitest';
import { findProgram } from '../../src/processes/programs.ts';
import type { RunTool } from '../../src/telemetry/gpu-tool.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/telemetry');

export const recorded = (name: string): string => readFileSync(join(fixtures, name), 'utf8');

const root = mkdtempSync(join(tmpdir(), 'servetune-telemetry-'));
afterAll(() => rmSync(root, { recursive: true }));

/** An environment in which only these vendors' tools are installed, as stand-ins that obey its variables. */
export function installed(
  tools: readonly ('nvidia-smi' | 'amd-smi' | 'npu-smi')[],
  variables: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const bin = mkdtempSync(join(root, 'bin-'));
  for (const tool of tools) symlinkSync(join(fixtures, 'bin', tool), join(bin, tool));
  // What the stand-ins need, and nothing else: a real tool may be in the folder that these are in.
  for (const program of ['cat', 'sleep']) symlinkSync(findProgram(program, process.env.PATH) ?? '', join(bin, program));
  symlinkSync(process.execPath, join(bin, 'node'));
  return { PATH: bin, FIXTURES: fixtures, ...variables };
}

/** Answers a tool's commands with texts, by the words that a command holds. */
export const answering =
  (answers: Readonly<Record<string, string>>): RunTool =>
  async (argv) => {
    const answer = Object.entries(answers).find(([words]) => words.split(' ').every((word) => argv.includes(word)));
    if (!answer) throw new Error(`no answer to ${argv.join(' ')}`);
    return answer[1];
  };

export const never = new AbortController().signal;
