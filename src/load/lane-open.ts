import type { Endpoint } from '../endpoints/endpoint.ts';
import { Course } from './course.ts';
import { openHttp } from './http.ts';
import { Lane, type LaneOptions } from './lane.ts';
import type { LaneTask } from './lane-thread.ts';
import { warmUpClient } from './warmup.ts';

/** A lane whose connections stand, and what closes them. */
export interface OpenLane {
  readonly lane: Lane;
  close(): void;
}

/** Gets a lane ready on the thread that calls. */
export async function openLane(
  task: LaneTask,
  endpoint: Endpoint,
  signal: AbortSignal,
  onRecord: LaneOptions['onRecord'],
): Promise<OpenLane> {
  await warmUpClient(endpoint, signal);
  const { url, headers, preconnect, ca, requests, bodies, bodyStarts } = task;
  const transport = await openHttp({
    url: new URL(url),
    headers,
    preconnect,
    ...(ca === undefined ? {} : { ca }),
    signal,
  });
  const lane = new Lane({
    thread: task.thread,
    course: new Course(task.memory),
    plan: task.plan,
    endpoint,
    model: task.model,
    limit: task.limit,
    transport,
    request(index) {
      const spec = requests[index];
      if (!spec) throw new Error(`there is no request ${index}`);
      return spec;
    },
    prepared(index) {
      const [start, end] = [bodyStarts[index], bodyStarts[index + 1]];
      return start === undefined || end === undefined ? undefined : Buffer.from(bodies, start, end - start);
    },
    onRecord,
  });
  return { lane, close: () => transport.close() };
}
