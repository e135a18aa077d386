import type { RequestOptions } from '../endpoints/endpoint.ts';
import { InputError, type Problem } from '../kit/errors.ts';
import type { RequestSpec } from '../records/request.ts';
import { type Arrivals, isBurst } from './arrivals.ts';

/** What is sent, and when. */
export interface LoadPlan {
  /** The pool, ready before the clock starts. Sent in this order; what is left over when the load ends is not asked for. */
  readonly requests: readonly RequestSpec[];
  /** Sending stops once this many were sent and `minDurationS` has passed. */
  readonly minRequests: number;
  /** Sending goes on past `minRequests` until then, seconds; 0 sends `minRequests` exactly. */
  readonly minDurationS: number;
  /** Most requests in flight at once; null is no limit. */
  readonly maxConcurrency: number | null;
  /** When each is due; requests with a `dueS` of their own are due then. */
  readonly arrivals: Arrivals;
  /** What every request asks for besides its prompt. */
  readonly ask: Omit<RequestOptions, 'model'>;
  /** Laid over every request body. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Each request gets the header `x-request-id` with this and its index. */
  readonly requestIdPrefix?: string;
  /** Keep the text of every answer in its record. */
  readonly keepText?: boolean;
  /** A request that takes longer has failed, seconds. */
  readonly requestTimeoutS?: number;
  /** No byte from any stream for this long while some are open: the server hangs, and the load ends. Seconds. */
  readonly stallTimeoutS?: number;
  /** The load ends after this long, whatever is still under way. Seconds. */
  readonly loadTimeoutS?: number;
  /** The load ends once failed requests and malformed events together are more than this. */
  readonly maxErrors?: number;
}

/** Throws an InputError with everything that is wrong with a plan. */
export function checkPlan(plan: LoadPlan): void {
  const problems: Problem[] = [];
  const check = (place: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ place, message });
  };
  const positive = (place: string, value: number | null | undefined): void =>
    check(place, value === undefined || value === null || value > 0, `must be more than 0, and is ${value}`);
  check('--num-prompts', plan.minRequests >= 0, `must not be negative, and is ${plan.minRequests}`);
  if (plan.requests.length < plan.minRequests) {
    problems.push({
      place: '--num-prompts',
      message: `asks for ${plan.minRequests} requests, and only ${plan.requests.length} are prepared`,
    });
  }
  check('min_duration_s', plan.minDurationS >= 0, `must not be negative, and is ${plan.minDurationS}`);
  const unbounded = plan.maxConcurrency === null && isBurst(plan.arrivals);
  check(
    'min_duration_s',
    !(plan.minDurationS > 0 && unbounded),
    'needs a limit on concurrency or a request rate: without them every prepared request goes out at once',
  );
  check(
    '--max-concurrency',
    plan.maxConcurrency === null || (Number.isInteger(plan.maxConcurrency) && plan.maxConcurrency > 0),
    `must be a whole number of at least 1, and is ${plan.maxConcurrency}`,
  );
  positive('--request-rate', plan.arrivals.requestRate);
  positive('--burstiness', plan.arrivals.burstiness);
  positive('request_timeout_s', plan.requestTimeoutS);
  positive('stall_timeout_s', plan.stallTimeoutS);
  positive('load_timeout_s', plan.loadTimeoutS);
  if (problems.length > 0) throw new InputError(problems);
}
