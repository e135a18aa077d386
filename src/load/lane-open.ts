import type { Endpoint } from '../endpoints/endpoint.ts';
import { Course } from './course.ts';
import { openHttp } from './http.ts';
import { Lane, type LaneOptions } from './lane.ts';
import type { LaneTask } from './lane-thread.ts';
import { requestBody } from './request-body.ts';
import { bodyOfShared, tokensAsked } from './shared-requests.ts';
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
  const { url, headers, preconnect, ca, requests, bodyPlan } = task;
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
    limit: task.limit,
    transport,
    asked: (index) => tokensAsked(requests, index),
    body: (index) => bodyOfShared(requests, index, (spec) => requestBody(spec, endpoint, bodyPlan)),
    onRecord,
  });
  return { lane, close: () => transport.close() };
}
