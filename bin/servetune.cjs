#!/usr/bin/env node
// CommonJS, because Node's ES module loader starts the thread pool and reads its size only once, at its first use.
// llama.cpp keeps its own threads; a pool of several would move its steps from one to another and halve the speed.
if (process.argv[2] === 'serve') process.env.UV_THREADPOOL_SIZE ??= '1';
import('../dist/cli/main.js');
