import type { Endpoint } from '../endpoints/endpoint.ts';
import { now } from '../kit/clock.ts';
import { type LoopDelay, watchLoopDelay } from '../kit/loop-delay.ts';
import type { RequestRecord } from '../records/request.ts';
import { Answer } from './answer.ts';
import type { Course } from './course.ts';
import { Flight, type FlightWatch } from './flight.ts';
import type { LoadPlan } from './plan.ts';
import type { AskedTokens } from './shared-requests.ts';
import { Slots } from './slots.ts';
import type { Tally } from './tally.ts';
import type { Transport } from './transport.ts';

/** Requests sent in one turn of the event loop; more would keep it from reading what the first ones bring. */
const BURST = 16;
/** The longest that a timer of Node can wait. */
const MOST_TIMER_MS = 2 ** 31 - 1;

/** What a lane needs of the plan. */
export type LanePlan = Pick<
  LoadPlan,
  'minRequests' | 'minDurationS' | 'requestIdPrefix' | 'keepText' | 'requestTimeoutS'
>;

export interface LaneOptions {
  /** Which of the threads it is, from 0. */
  readonly thread: number;
  readonly course: Course;
  readonly plan: LanePlan;
  readonly endpoint: Endpoint;
  /** Its share of the limit on requests in flight; null is none. */
  readonly limit: number | null;
  readonly transport: Transport;
  asked(index: number): AskedTokens;
  body(index: number): Buffer;
  /** A request has ended. `refusal` is the system's code, when it failed by that. */
  onRecord(record: RequestRecord, refusal: string | undefined): void;
}

/** What a lane says of itself when it is done. */
export interface LaneResult {
  readonly loop: LoopDelay;
  /** Most requests of all lanes that it saw in flight at once. */
  readonly mostInFlight: number;
  readonly socketsOpened: number;
  readonly staleRetries: number;
  /** Reads of sockets that brought something. */
  readonly reads: number;
}

/** Sends requests of a load and reads their answers, on one thread. */
export class Lane implements FlightWatch {
  startS = 0;
  readonly #options: LaneOptions;
  readonly #slots: Slots;
  readonly #flights = new Set<Flight>();
  readonly #tally: Tally = { outputTokens: 0 };
  #tallied = 0;
  #mostInFlight = 0;
  #sending = true;
  #wake: NodeJS.Timeout | undefined;
  #finish: () => void = () => {};

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#slots = new Slots(options.limit);
  }

  /** Sends until there is nothing more to send and everything has ended. `startS` is on the clock of `now`. */
  async run(startS: number): Promise<LaneResult> {
    const loop = watchLoopDelay();
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    this.startS = startS;
    try {
      this.#send();
      await finished;
      const { socketsOpened, staleRetries, reads } = this.#options.transport;
      return { loop: loop.stop(), mostInFlight: this.#mostInFlight, socketsOpened, staleRetries, reads };
    } finally {
      clearTimeout(this.#wake);
      loop.stop();
    }
  }

  /** Sends nothing more, and drops what is under way. */
  abandon(reason: string): void {
    this.#sending = false;
    const atS = this.#elapsed();
    for (const flight of [...this.#flights]) flight.giveUp('cancelled', reason, atS);
    this.#finishIfDone();
  }

  heard(bytes: number): void {
    this.#count('bytesHeard', bytes);
    const { outputTokens } = this.#tally;
    if (outputTokens === this.#tallied) return;
    this.#count('outputTokens', outputTokens - this.#tallied);
    this.#tallied = outputTokens;
  }

  settled(flight: Flight): void {
    clearTimeout(flight.timer);
    const record = flight.answer.record(flight.asked, flight.intendedSendS, flight.sendS);
    this.#count(record.outcome === 'ok' ? 'ok' : 'failed', 1);
    this.heard(0);
    this.#options.onRecord(record, flight.refusal);
  }

  released(flight: Flight, atS: number): void {
    this.#flights.delete(flight);
    this.#options.course.leave();
    this.#slots.give(atS);
    this.#send();
  }

  #count(counter: Parameters<Course['count']>[1], more: number): void {
    this.#options.course.count(this.#options.thread, counter, more);
  }

  #elapsed(): number {
    return now() - this.startS;
  }

  /** Sends everything that is due and has a place; called whenever time has passed or a place became free. */
  readonly #send = (): void => {
    const { course, plan } = this.#options;
    const { minRequests, minDurationS } = plan;
    for (let sent = 0; this.#sending; ) {
      const index = course.next;
      const enough = index >= minRequests;
      const over = index >= course.due.length || (enough && this.#elapsed() >= minDurationS);
      if (over || course.stopped) this.#sending = false;
      if (!this.#sending || !this.#slots.free) break;
      const dueS = course.due[index] as number;
      const waitS = (enough ? Math.min(dueS, minDurationS) : dueS) - this.#elapsed();
      if (waitS > 0) {
        clearTimeout(this.#wake);
        // Rounded up: a timer that fires early would only be set again.
        this.#wake = setTimeout(this.#send, Math.min(Math.ceil(waitS * 1000), MOST_TIMER_MS));
        break;
      }
      if (sent === BURST) {
        setImmediate(this.#send);
        break;
      }
      if (!course.claim(index)) continue;
      this.#sendOne(index, dueS);
      sent++;
    }
    this.#finishIfDone();
  };

  #sendOne(index: number, dueS: number): void {
    const { course, plan, endpoint, transport } = this.#options;
    const asked = this.#options.asked(index);
    const body = this.#options.body(index);
    const intendedSendS = Math.max(dueS, this.#slots.take());
    const answer = new Answer(endpoint, this.#tally, { keepText: plan.keepText ?? false });
    const flight = new Flight(asked, answer, intendedSendS, this.#elapsed(), this);
    this.#flights.add(flight);
    this.#mostInFlight = Math.max(this.#mostInFlight, course.enter());
    this.#count('sent', 1);
    const id = plan.requestIdPrefix === undefined ? undefined : `${plan.requestIdPrefix}${index}`;
    flight.exchange = transport.send(body, flight, id);
    const { requestTimeoutS } = plan;
    if (requestTimeoutS === undefined) return;
    flight.timer = setTimeout(
      () => flight.giveUp('timeout', `no end after ${requestTimeoutS} s`, this.#elapsed()),
      Math.min(requestTimeoutS * 1000, MOST_TIMER_MS),
    );
  }

  #finishIfDone(): void {
    if (!this.#sending && this.#flights.size === 0) this.#finish();
  }
}
