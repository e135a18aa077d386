import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One file at a time: many tests start real engines and measure them, and the machine may have two cores.
    fileParallelism: false,
  },
});
