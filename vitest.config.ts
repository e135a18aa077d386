import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two files at a time: the tests start real engines, and the machine may have two cores.
    maxWorkers: 2,
  },
});
