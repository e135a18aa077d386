import { answerTtft } from './answer-ttft.ts';
import { e2el } from './e2el.ts';
import { firstEvent } from './first-event.ts';
import { itl } from './itl.ts';
import type { Metric } from './metric.ts';
import { streamEnd } from './stream-end.ts';
import { tpot } from './tpot.ts';
import { ttft } from './ttft.ts';

/** Every latency metric, in the order of tables. To add one: write its file beside this one, then name it here. */
export const metrics: readonly Metric[] = [ttft, tpot, itl, e2el, streamEnd, answerTtft, firstEvent];
