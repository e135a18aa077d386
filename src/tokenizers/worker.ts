/** The main file of a thread that encodes and decodes for its owner: one codec, jobs in, answers out. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../kit/errors.ts';
import { type Answer, type Job, memoryOf, pack, unpack } from './packing.ts';
import { type CodecSource, codecOf } from './source.ts';

const codec = codecOf(workerData as CodecSource);

function answer(job: Job): Answer {
  try {
    return job.kind === 'encode'
      ? { kind: 'ids', packed: pack(job.texts.map((text) => (text === '' ? [] : codec.encode(text)))) }
      : { kind: 'texts', texts: unpack(job.packed).map((ids) => (ids.length === 0 ? '' : codec.decode(ids))) };
  } catch (error) {
    return { kind: 'failed', message: messageOf(error) };
  }
}

parentPort?.on('message', (job: Job) => {
  const done = answer(job);
  parentPort?.postMessage(done, done.kind === 'ids' ? memoryOf(done.packed) : []);
});
