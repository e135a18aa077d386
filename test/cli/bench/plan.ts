import { parseArgv } from '../../../src/cli/argv.ts';
import { benchProblems } from '../../../src/cli/bench/conflicts.ts';
import { type BenchOptions, benchServeGroups, benchServeOptions } from '../../../src/cli/bench/options.ts';
import type { BenchPlan } from '../../../src/cli/bench/plan.ts';
import { resolveBench } from '../../../src/cli/bench/resolve.ts';
import { defineCommand } from '../../../src/cli/command.ts';
import { InputError, type Problem } from '../../../src/kit/errors.ts';

/** `bench serve` with its options and without what it does. */
export const benchServe = defineCommand({
  name: 'bench serve',
  about: 'Sends a workload.',
  options: benchServeOptions,
  groups: benchServeGroups,
  examples: [['servetune bench serve --port 8000', 'a load']],
  check: (given, unreadable) => benchProblems(given, unreadable as ReadonlySet<string>),
  run: () => Promise.reject(new Error('not to be run')),
});

export const given = (...argv: readonly string[]): BenchOptions => parseArgv(benchServe, argv) as BenchOptions;

export const plan = (...argv: readonly string[]): BenchPlan =>
  resolveBench(given(...argv), new Date(2026, 7, 5, 9, 3, 7), '0123abcd');

/** What is wrong with a command line. */
export function problems(...argv: readonly string[]): readonly Problem[] {
  try {
    plan(...argv);
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
}
