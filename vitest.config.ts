import { defineConfig } from 'vitest/config';
import type { Reporter } from 'vitest/reporters';

/** Ends the output with one line that any tool can read. In CI a skipped test is a failure: it would prove nothing. */
const closingLine: Reporter = {
  onTestRunEnd(modules) {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string): number => states.filter((s) => s === state).length;
    const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
    process.stdout.write(`\n${count('passed')} passed, ${count('failed')} failed${skipped}\n`);
    if (process.env.CI && skipped !== '') process.exitCode = 1;
  },
};

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One file at a time: many tests start real engines and measure them, and the machine may have two cores.
    fileParallelism: false,
    reporters: ['default', closingLine],
  },
});
