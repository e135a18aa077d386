import { systemCode } from '../kit/errors.ts';
import type { Answer } from './answer.ts';
import type { AskedTokens } from './shared-requests.ts';
import type { Exchange, ExchangeSink, ResponseHead } from './transport.ts';

/** What a load wants to know of its requests under way. */
export interface FlightWatch {
  /** The start of the load on the clock of the transport. */
  readonly startS: number;
  /** Something came from the server: so many bytes of a body, or a head. */
  heard(bytes: number): void;
  /** The request ended, well or not; its connection may still be draining. */
  settled(flight: Flight): void;
  /** Its place is free; always after `settled`. */
  released(flight: Flight, atS: number): void;
}

/** One request under way: passes what the transport brings on to the answer, in the time of the load. */
export class Flight implements ExchangeSink {
  readonly asked: AskedTokens;
  readonly answer: Answer;
  readonly intendedSendS: number;
  readonly sendS: number;
  exchange: Exchange | undefined;
  timer: NodeJS.Timeout | undefined;
  /** `EMFILE`, when it failed by the system's refusal. */
  refusal: string | undefined;
  readonly #watch: FlightWatch;

  constructor(asked: AskedTokens, answer: Answer, intendedSendS: number, sendS: number, watch: FlightWatch) {
    this.asked = asked;
    this.answer = answer;
    this.intendedSendS = intendedSendS;
    this.sendS = sendS;
    this.#watch = watch;
  }

  head(head: ResponseHead): void {
    this.#watch.heard(1);
    this.answer.head(head);
  }

  bytes(read: Buffer, start: number, end: number, atS: number): boolean {
    this.#watch.heard(end - start);
    if (!this.answer.bytes(read, start, end, atS - this.#watch.startS)) return false;
    this.#watch.settled(this);
    return true;
  }

  end(atS: number): void {
    this.answer.end(atS - this.#watch.startS);
    this.#watch.settled(this);
  }

  broken(error: Error, atS: number): void {
    this.refusal = systemCode(error);
    // An AggregateError (several addresses tried) has no words of its own.
    this.answer.broken(error.message || this.refusal || error.name, atS - this.#watch.startS);
    this.#watch.settled(this);
  }

  released(atS: number): void {
    this.#watch.released(this, atS - this.#watch.startS);
  }

  giveUp(outcome: 'timeout' | 'cancelled', reason: string, atS: number): void {
    const settled = this.answer.outcome !== undefined;
    this.answer.giveUp(outcome, reason, atS);
    if (!settled) this.#watch.settled(this);
    this.exchange?.cancel();
  }
}
