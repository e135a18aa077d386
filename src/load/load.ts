import { now } from '../kit/clock.ts';
import { messageOf } from '../kit/errors.ts';
import { type LoopDelay, watchLoopDelay } from '../kit/loop-delay.ts';
import type { RequestRecord, RequestSpec } from '../records/request.ts';
import { Answer, type Tally } from './answer.ts';
import { arrivalTimes } from './arrivals.ts';
import { Flight, type FlightWatch } from './flight.ts';
import { clientHealth } from './health.ts';
import type { Journal } from './journal.ts';
import type { LoadPlan } from './plan.ts';
import { recentRate } from './progress.ts';
import type { LoadHooks, LoadResult } from './result.ts';
import { Slots } from './slots.ts';
import type { LoadTarget } from './target.ts';
import type { Transport } from './transport.ts';

/** Requests sent in one turn of the event loop; more would keep it from reading what the first ones bring. */
const BURST = 16;
/** Memory for request bodies that are made ready before the clock starts. */
const MOST_PREPARED_BYTES = 64 << 20;
const TICK_S = 0.1;
const PROGRESS_S = 0.25;

/** One load while it runs. */
export class Load implements FlightWatch {
  startS = 0;
  readonly #target: LoadTarget;
  readonly #plan: LoadPlan;
  readonly #hooks: LoadHooks;
  readonly #transport: Transport;
  readonly #journal: Journal | undefined;
  readonly #slots: Slots;
  readonly #due: Float64Array;
  readonly #dueAtOnce: boolean;
  readonly #prepared: (Buffer | undefined)[] = [];
  readonly #flights = new Set<Flight>();
  readonly #records: RequestRecord[] = [];
  readonly #tally: Tally = { outputTokens: 0 };
  readonly #rate = recentRate();
  #next = 0;
  #ok = 0;
  #errors = 0;
  #sending = true;
  #ended: LoadResult['ended'] | undefined;
  #abandonedReason: string | undefined;
  #clientFault: string | undefined;
  #wake: NodeJS.Timeout | undefined;
  #silentS = 0;
  #finish: () => void = () => {};

  constructor(
    target: LoadTarget,
    plan: LoadPlan,
    hooks: LoadHooks,
    transport: Transport,
    journal: Journal | undefined,
  ) {
    this.#target = target;
    this.#plan = plan;
    this.#hooks = hooks;
    this.#transport = transport;
    this.#journal = journal;
    this.#slots = new Slots(plan.maxConcurrency);
    const pool = plan.minDurationS > 0 ? plan.requests.length : plan.minRequests;
    this.#due = dueTimes(pool, plan);
    this.#dueAtOnce = this.#due.every((dueS) => dueS === 0);
    let bytes = 0;
    for (let i = 0; i < Math.min(pool, plan.maxConcurrency ?? pool) && bytes < MOST_PREPARED_BYTES; i++) {
      const body = this.#body(plan.requests[i] as RequestSpec);
      bytes += body.length;
      this.#prepared.push(body);
    }
  }

  async run(): Promise<LoadResult> {
    const { signal } = this.#hooks;
    const cancel = (): void => this.abandon('cancelled', `cancelled: ${messageOf(signal.reason)}`);
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    const loop = watchLoopDelay();
    this.startS = now();
    const ticker = setInterval(this.#ticks(), TICK_S * 1000);
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    try {
      this.#send();
      await finished;
      return this.#result(loop.stop());
    } finally {
      clearInterval(ticker);
      clearTimeout(this.#wake);
      signal.removeEventListener('abort', cancel);
      loop.stop();
    }
  }

  /** Ends the load now: nothing more is sent, and what is under way is dropped. */
  abandon(ended: Exclude<LoadResult['ended'], 'complete'>, reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = ended;
    this.#abandonedReason = reason;
    this.#sending = false;
    const atS = this.#elapsed();
    for (const flight of [...this.#flights]) flight.giveUp('cancelled', reason, atS);
    this.#finishIfDone();
  }

  heard(): void {
    this.#silentS = 0;
  }

  settled(flight: Flight): void {
    clearTimeout(flight.timer);
    const record = flight.answer.record(flight.spec, flight.intendedSendS, flight.sendS);
    this.#records.push(record);
    this.#journal?.add(record);
    if (record.outcome === 'ok') this.#ok++;
    if (record.outcome !== 'ok' && record.outcome !== 'cancelled') this.#errors++;
    this.#errors += record.malformedEvents;
    if (isClientFault(flight.refusal)) this.#clientFault ??= record.error;
    const { maxErrors } = this.#plan;
    if (maxErrors !== undefined && this.#errors > maxErrors) {
      this.abandon(
        'cancelled',
        `stopped after ${this.#errors} errors; the last: ${record.error ?? 'a malformed event'}`,
      );
    }
  }

  released(flight: Flight, atS: number): void {
    this.#flights.delete(flight);
    this.#slots.give(atS);
    this.#send();
  }

  #elapsed(): number {
    return now() - this.startS;
  }

  #body(spec: RequestSpec): Buffer {
    const { model, endpoint } = this.#target;
    const { ask, extraBody } = this.#plan;
    const body = endpoint.body(spec, { ...ask, model: spec.model ?? model });
    return Buffer.from(JSON.stringify(extraBody === undefined ? body : { ...body, ...extraBody }));
  }

  /** Sends everything that is due and has a place; called whenever time has passed or a place became free. */
  readonly #send = (): void => {
    const { minRequests, minDurationS } = this.#plan;
    for (let sent = 0; this.#sending; sent++) {
      const enough = this.#next >= minRequests;
      if (this.#next >= this.#due.length || (enough && this.#elapsed() >= minDurationS)) this.#sending = false;
      if (!this.#sending || !this.#slots.free) break;
      const dueS = this.#due[this.#next] as number;
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
      this.#sendOne(dueS);
    }
    this.#finishIfDone();
  };

  #sendOne(dueS: number): void {
    const index = this.#next++;
    const spec = this.#plan.requests[index] as RequestSpec;
    const body = this.#prepared[index] ?? this.#body(spec);
    this.#prepared[index] = undefined;
    const intendedSendS = Math.max(dueS, this.#slots.take());
    const answer = new Answer(this.#target.endpoint, this.#tally, { keepText: this.#plan.keepText ?? false });
    const flight = new Flight(spec, answer, intendedSendS, this.#elapsed(), this);
    if (this.#flights.size === 0) this.#silentS = 0;
    this.#flights.add(flight);
    const { requestTimeoutS, requestIdPrefix } = this.#plan;
    const id = requestIdPrefix === undefined ? undefined : `${requestIdPrefix}${spec.index}`;
    flight.exchange = this.#transport.send(body, flight, id);
    if (requestTimeoutS === undefined) return;
    flight.timer = setTimeout(
      () => flight.giveUp('timeout', `no end after ${requestTimeoutS} s`, this.#elapsed()),
      Math.min(requestTimeoutS * 1000, MOST_TIMER_MS),
    );
  }

  #finishIfDone(): void {
    if (!this.#sending && this.#flights.size === 0) this.#finish();
  }

  /** What is looked after several times a second: silence, the limit on the whole load, progress. */
  #ticks(): () => void {
    const { stallTimeoutS = Number.POSITIVE_INFINITY, loadTimeoutS = Number.POSITIVE_INFINITY } = this.#plan;
    let lastS = this.startS;
    let toldS = this.startS;
    return () => {
      const atS = now();
      // A process that was stopped for a while has not listened: silence counts by the ticks that it lived through.
      if (this.#flights.size > 0) this.#silentS += Math.min(atS - lastS, 2 * TICK_S);
      lastS = atS;
      if (this.#silentS >= stallTimeoutS) {
        this.abandon('hung', `no byte from any of ${this.#flights.size} open streams for ${stallTimeoutS} s`);
      } else if (atS - this.startS >= loadTimeoutS) {
        this.abandon('timed_out', `the load was not over after ${loadTimeoutS} s`);
      }
      if (atS - toldS < PROGRESS_S) return;
      toldS = atS;
      this.#tell();
    };
  }

  #tell(): void {
    const elapsedS = this.#elapsed();
    this.#hooks.onProgress?.({
      sent: this.#next,
      ok: this.#ok,
      failed: this.#records.length - this.#ok,
      running: this.#next - this.#records.length,
      outputTokens: this.#tally.outputTokens,
      elapsedS,
      tokensPerS: this.#rate(this.#tally.outputTokens, elapsedS),
      total: this.#plan.minDurationS > 0 ? null : this.#plan.minRequests,
    });
  }

  #result(loop: LoopDelay): LoadResult {
    const { minRequests, minDurationS, maxConcurrency } = this.#plan;
    this.#tell();
    const durationS = this.#records.reduce((last, { endS }) => Math.max(last, endS), 0);
    const asked = Math.max(minRequests, this.#next);
    const ranOut = this.#ended === undefined && this.#next === this.#due.length && durationS < minDurationS;
    return {
      records: this.#records,
      asked,
      notSent: asked - this.#next,
      client: clientHealth({
        loop,
        records: this.#records,
        durationS,
        concurrencyAsked: maxConcurrency,
        concurrencyReached: this.#slots.most,
        rateIsInfinite: this.#dueAtOnce,
        socketsOpened: this.#transport.socketsOpened,
        ...(this.#clientFault === undefined ? {} : { clientFault: this.#clientFault }),
      }),
      ended: this.#ended ?? 'complete',
      ...(this.#abandonedReason === undefined ? {} : { abandonedReason: this.#abandonedReason }),
      ...(ranOut
        ? {
            ranOut: `all ${this.#next} prepared requests had ended after ${durationS.toFixed(1)} s of the ${minDurationS} s asked for`,
          }
        : {}),
      durationS,
      staleRetries: this.#transport.staleRetries,
    };
  }
}

/** A dataset's own clock goes before the arrivals that were asked for. */
function dueTimes(count: number, { requests, arrivals }: LoadPlan): Float64Array {
  const times = arrivalTimes(count, arrivals);
  for (let i = 0; i < count; i++) times[i] = requests[i]?.dueS ?? (times[i] as number);
  return times;
}

/** The longest that a timer of Node can wait. */
const MOST_TIMER_MS = 2 ** 31 - 1;

/** This side ran out of files, ports or memory: no fault of the server. */
const isClientFault = (code: string | undefined): boolean =>
  code !== undefined && ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'].includes(code);
