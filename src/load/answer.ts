import type { Endpoint, EventReader, StreamEvent } from '../endpoints/endpoint.ts';
import { type SseKind, SseSplitter } from '../endpoints/sse.ts';
import type { Outcome, RequestRecord } from '../records/request.ts';
import { clip, counted, httpError, KeptBody, looksLikeStream, quoted } from './answer-body.ts';
import { countedTokens, type Heard, microseconds, recordOf } from './answer-record.ts';
import { type EventShape, matched, shapeOf } from './event-shape.ts';
import { RawText } from './raw-text.ts';
import type { AskedTokens } from './shared-requests.ts';
import type { Tally } from './tally.ts';
import type { ResponseHead } from './transport.ts';

/** Shapes that were learned and never seen again: after that many, the events of a stream are known to differ. */
const MOST_FRUITLESS = 3;

/**
 * One answer being read: from the bytes of its body to what a record says. Knows no sockets and no clock; times are
 * seconds since the start of the load, and everything that one call brings has the time of that call.
 *
 * It settles exactly once: at `[DONE]` or what the dialect has instead, at an error that the server reports, at the end of
 * the body, or when it breaks or is given up. Nothing that comes later changes it.
 */
export class Answer implements Heard {
  outcome: Outcome | undefined;
  endS = 0;
  readonly tokenTimesS: number[] = [];
  error: string | undefined;
  httpStatus: number | undefined;
  tokenCounts: number[] | undefined = [];
  readonly emptyChoiceTimesS: number[] = [];
  firstEventS: number | undefined;
  lastEventS: number | undefined;
  firstAnswerTokenS: number | undefined;
  serverPromptTokens: number | undefined;
  cachedTokens: number | undefined;
  serverOutputTokens: number | undefined;
  finishReason: string | undefined;
  malformedEvents = 0;
  malformedText: string | undefined;
  readonly #endpoint: Endpoint;
  readonly #readEvent: EventReader;
  readonly #keepText: boolean;
  readonly #tally: Tally;
  readonly #splitter: SseSplitter;
  /** The shape of the events that need not be parsed, once one is known. */
  #shape: EventShape | undefined;
  /** Nothing had it since it was learned. */
  #shapeIsUnseen = false;
  /** Learned shapes that nothing had. */
  #fruitless = 0;
  /** What comes next begins an event, and nothing is kept of the one before. */
  #betweenEvents = true;
  /** What the first event of the bytes that are being read said. */
  #saidFirst: StreamEvent | undefined;
  #head: ResponseHead | undefined;
  /** What `#tally` was told so far. */
  #tallied = 0;
  readonly #text = new RawText();
  #hasChoice = false;
  /** Of a body that is not a stream: all of it. Of a stream without events so far: its beginning. */
  readonly #body = new KeptBody();
  #isStream: boolean | undefined;
  /** The time of the bytes that are being read. */
  #atS = 0;

  /** `parseAll` gives every event to the parser, also where a glance at its bytes is enough. */
  constructor(endpoint: Endpoint, tally: Tally, { keepText = false, parseAll = false } = {}) {
    this.#endpoint = endpoint;
    this.#readEvent = endpoint.reader();
    this.#tally = tally;
    this.#keepText = keepText;
    if (parseAll) this.#fruitless = MOST_FRUITLESS;
    if (!endpoint.generates) this.#isStream = false;
    this.#splitter = new SseSplitter((text, kind) => this.#event(text, kind));
  }

  head(head: ResponseHead): void {
    this.#head = head;
    this.httpStatus = head.status;
    if (head.status !== 200) this.#isStream = false;
  }

  /** Reads what stands in `read` from `start` up to `end`, part of the body. Returns whether the answer has settled. */
  bytes(read: Buffer, start: number, end: number, atS: number): boolean {
    if (this.outcome !== undefined) return true;
    this.#atS = microseconds(atS);
    if (this.#isStream === undefined) this.#isStream = looksLikeStream(read, start, end);
    if (this.#isStream === false) this.#body.keep(read.subarray(start, end));
    else {
      if (this.firstEventS === undefined) this.#body.keep(read.subarray(start, end), 200);
      this.#stream(read, start, end);
    }
    return this.outcome !== undefined;
  }

  #stream(read: Buffer, start: number, end: number): void {
    const at = this.#betweenEvents ? this.#passRepeats(read, start, end) : start;
    if (at === end) return;
    const learns = this.#betweenEvents && this.#fruitless < MOST_FRUITLESS;
    const rest = read.subarray(at, end);
    this.#saidFirst = undefined;
    this.#splitter.push(rest);
    this.#betweenEvents = this.#splitter.idle;
    if (learns && this.#saidFirst !== undefined && this.outcome === undefined) this.#learn(rest, this.#saidFirst);
  }

  /** Reads the events of known shape that come first; returns where they end. */
  #passRepeats(read: Buffer, start: number, end: number): number {
    this.#shape ??= this.#fruitless < MOST_FRUITLESS ? this.#tally.shape : undefined;
    const shape = this.#shape;
    if (shape === undefined) return start;
    let at = start;
    for (let next = shape.match(read, at, end); next >= 0; next = shape.match(read, at, end)) {
      this.#repeated(read, shape);
      at = next;
      if (at === end) break;
    }
    if (at > start) this.#splitter.passed();
    return at;
  }

  /** The parser has read the event that `bytes` begin with as `said`. */
  #learn(bytes: Buffer, said: StreamEvent): void {
    const shape = shapeOf(bytes, said, this.#endpoint.reader());
    if (shape === undefined) return;
    if (this.#shapeIsUnseen) this.#fruitless++;
    this.#shapeIsUnseen = true;
    this.#shape = shape;
    this.#tally.shape = shape;
  }

  /** An event that says nothing but its text. */
  #repeated(read: Buffer, shape: EventShape): void {
    if (this.firstEventS === undefined) {
      this.firstEventS = this.#atS;
      this.#body.forget();
    }
    this.#shapeIsUnseen = false;
    if (shape.isChoice) this.#hasChoice = true;
    this.lastEventS = this.#atS;
    this.tokenTimesS.push(this.#atS);
    this.tokenCounts = undefined;
    this.#count(1);
    if (shape.isAnswer) this.firstAnswerTokenS ??= this.#atS;
    if (this.#keepText || this.#tally.serverCounts !== true) {
      this.#text.addBytes(read, matched.textStart, matched.textEnd);
    }
  }

  /** The body ended as it should. */
  end(atS: number): void {
    if (this.outcome !== undefined) return;
    this.#atS = microseconds(atS);
    if (this.httpStatus !== 200) this.#settle('http_error', this.#httpError());
    else if (this.#isStream === false) this.#endWhole();
    else {
      this.#splitter.end();
      if (this.outcome !== undefined) return;
      if (this.#isFinished) this.#complete();
      else this.#settle('truncated', this.#truncation());
    }
  }

  /** There was no connection, or it broke. */
  broken(message: string, atS: number): void {
    if (this.outcome !== undefined) return;
    this.#atS = microseconds(atS);
    if (this.httpStatus === undefined) this.#settle('connection_error', message);
    else if (this.httpStatus !== 200) this.#settle('http_error', this.#httpError());
    else this.#settle('truncated', `${message}, after ${counted(this.tokenTimesS.length, 'token event')}`);
  }

  giveUp(outcome: Extract<Outcome, 'timeout' | 'cancelled'>, reason: string, atS: number): void {
    if (this.outcome !== undefined) return;
    this.#atS = microseconds(atS);
    this.#settle(outcome, reason);
  }

  /** The record of a settled answer. */
  record(asked: AskedTokens, intendedSendS: number, sendS: number): RequestRecord {
    const counted = countedTokens(this);
    const needsText = counted === undefined && this.tokenTimesS.length > 0 && this.#tally.serverCounts !== true;
    const text = this.#keepText || needsText ? this.#text.toString() : undefined;
    return recordOf(this, { asked, intendedSendS, sendS, counted, text, generates: this.#endpoint.generates });
  }

  /** Whether what came so far is a whole answer, should the body end now. */
  get #isFinished(): boolean {
    return this.finishReason !== undefined || (this.#endpoint.endsWith === 'body' && this.#hasChoice);
  }

  #event(text: string, kind: SseKind): void {
    if (this.outcome !== undefined) return;
    if (this.firstEventS === undefined) {
      this.firstEventS = this.#atS;
      this.#body.forget();
    }
    if (text.charCodeAt(0) === 0x5b && text.trimEnd() === '[DONE]') {
      this.#complete();
      return;
    }
    let event: unknown;
    try {
      event = JSON.parse(text);
    } catch {
      if (kind === 'error') this.#settle('in_band_error', text);
      else this.#passOver(text);
      return;
    }
    if (typeof event !== 'object' || event === null) {
      if (kind === 'data') {
        this.#passOver(text);
        return;
      }
    }
    this.lastEventS = this.#atS;
    this.#read(kind === 'error' && !hasError(event) ? { error: event } : event);
  }

  #read(event: unknown): void {
    const said = this.#readEvent(event);
    this.#saidFirst ??= said;
    if (said.token) {
      this.tokenTimesS.push(this.#atS);
      if (said.tokens === undefined) this.tokenCounts = undefined;
      else this.tokenCounts?.push(said.tokens);
      this.#count(said.tokens ?? 1);
      if (said.answer) this.firstAnswerTokenS ??= this.#atS;
    } else if (said.choice) this.emptyChoiceTimesS.push(this.#atS);
    if (said.choice) this.#hasChoice = true;
    if (said.text !== undefined) this.#text.add(said.text);
    else if (said.textSoFar !== undefined) this.#text.replace(said.textSoFar);
    if (said.promptTokens !== undefined) this.serverPromptTokens = said.promptTokens;
    if (said.cachedTokens !== undefined) this.cachedTokens = said.cachedTokens;
    if (said.outputTokens !== undefined) this.serverOutputTokens = said.outputTokens;
    if (said.finishReason !== undefined) this.finishReason = said.finishReason;
    if (said.error !== undefined) this.#settle('in_band_error', said.error);
    else if (said.done) this.#complete();
  }

  #passOver(text: string): void {
    this.malformedEvents++;
    this.malformedText ??= clip(text, 100);
  }

  #count(tokens: number): void {
    this.#tallied += tokens;
    this.#tally.outputTokens += tokens;
  }

  /** A terminal signal came. */
  #complete(): void {
    const isEmpty = this.tokenTimesS.length === 0 && !((this.serverOutputTokens ?? 0) > 0);
    if (isEmpty && this.#endpoint.generates) {
      this.#settle('empty', 'the answer ended properly, but without a single token');
    } else this.#settle('ok');
  }

  /** A 200 that is no stream: a server that ignored `stream`, or an error. Its one event arrived just now. */
  #endWhole(): void {
    let event: unknown;
    try {
      event = JSON.parse(this.#body.text());
    } catch {
      this.malformedEvents++;
      const body = quoted(this.#head, this.#body.text());
      this.#settle('truncated', `the answer is neither a stream of events nor JSON: ${body}`);
      return;
    }
    this.firstEventS = this.#atS;
    this.lastEventS = this.#atS;
    this.#read(event);
    if (this.outcome !== undefined) return;
    const wanted = this.#endpoint.generates ? 'completion' : 'embedding';
    if (this.#isFinished) this.#complete();
    else this.#settle('in_band_error', `the answer holds no ${wanted}: ${clip(this.#body.text())}`);
  }

  #settle(outcome: Outcome, error?: string): void {
    this.outcome = outcome;
    this.error = error;
    this.endS = this.#atS;
    this.#body.forget();
    const tokens = countedTokens(this);
    if (tokens !== undefined) this.#tally.serverCounts = true;
    this.#count((tokens ?? this.tokenTimesS.length) - this.#tallied);
  }

  #httpError(): string {
    return httpError(this.#head, this.#body.text(), (body) => this.#endpoint.reader()(body).error);
  }

  #truncation(): string {
    const said = `the body ended after ${counted(this.tokenTimesS.length, 'token event')} without a sign that the answer is complete`;
    if (this.firstEventS !== undefined || this.#body.length === 0) return said;
    return `${said}; it begins with: ${quoted(this.#head, this.#body.text(), 200)}`;
  }
}

const hasError = (event: unknown): boolean => typeof event === 'object' && event !== null && 'error' in event;
