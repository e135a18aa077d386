import { parentPort, workerData } from 'node:worker_threads';
import { endpointNamed } from '../endpoints/table.ts';
import { openLane } from './lane-open.ts';
import type { LaneNews, LaneOrder, LaneTask } from './lane-thread.ts';
import { RecordLog } from './record-log.ts';

/** Records go to the thread that keeps them this often, seconds: seldom enough to cost nothing, soon enough for a crash. */
const handOverS = 0.1;

const task = workerData as LaneTask;
const port = parentPort;
if (!port) throw new Error('this file is a thread of a load');
const tell = (news: LaneNews): void => port.postMessage(news);

const log = new RecordLog();
let refusals: string[] = [];
const handOver = (): void => {
  if (log.length === 0) return;
  const packed = log.take();
  tell({ kind: 'records', packed, refusals });
  refusals = [];
};

const never = new AbortController().signal;
const { lane, close } = await openLane(task, endpointNamed(task.backend), never, (record, refusal) => {
  log.add(record);
  if (refusal !== undefined) refusals.push(refusal);
});

port.on('message', async (order: LaneOrder) => {
  if (order.kind === 'abandon') {
    lane.abandon(order.reason);
    return;
  }
  const timer = setInterval(handOver, handOverS * 1000);
  const result = await lane.run(order.startS);
  clearInterval(timer);
  handOver();
  close();
  tell({ kind: 'done', result });
  port.close();
});
tell({ kind: 'ready' });
