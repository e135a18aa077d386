import type { Endpoint, EventReader, StreamEvent } from '../endpoints/endpoint.ts';
import { type SseKind, SseSplitter } from '../endpoints/sse.ts';
import type { Outcome, RequestRecord } from '../records/request.ts';
import { type EventShape, matched, shapeOf } from './event-shape.ts';
import { RawText } from './raw-text.ts';
import type { AskedTokens } from './shared-requests.ts';
import type { ResponseHead } from './transport.ts';

/** Counts over all answers of a load. */
export interface Tally {
  /** Output tokens so far: one an event that does not say how many it carries, put right when the answer has ended. */
  outputTokens: number;
  /** The shape of the events of the answer that learned one last. */
  shape?: EventShape;
  /** Some answer had its tokens counted by the server, so the texts of others are not needed to count theirs. */
  serverCounts?: boolean;
}

/** Most bytes kept of a body that is not a stream of events. */
const MOST_KEPT = 4 << 20;
/** Shapes that were learned and never seen again: after that many, the events of a stream are known to differ. */
const MOST_FRUITLESS = 3;

/**
 * One answer being read: from the bytes of its body to what a record says. Knows no sockets and no clock; times are
 * seconds since the start of the load, and everything that one call brings has the time of that call.
 *
 * It settles exactly once: at `[DONE]` or what the dialect has instead, at an error that the server reports, at the end of
 * the body, or when it breaks or is given up. Nothing that comes later changes it.
 */
export class Answer {
  outcome: Outcome | undefined;
  endS = 0;
  readonly tokenTimesS: number[] = [];
  malformedEvents = 0;
  #malformedText: string | undefined;
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
  #error: string | undefined;
  #httpStatus: number | undefined;
  #statusText = '';
  #location: string | undefined;
  /** Tokens of each event of `tokenTimesS`; undefined since one of them did not tell. */
  #tokenCounts: number[] | undefined = [];
  /** What `#tally` was told so far. */
  #tallied = 0;
  readonly #emptyChoiceTimesS: number[] = [];
  readonly #text = new RawText();
  #hasChoice = false;
  #firstEventS: number | undefined;
  #lastEventS: number | undefined;
  #firstAnswerTokenS: number | undefined;
  #serverPromptTokens: number | undefined;
  #cachedTokens: number | undefined;
  #serverOutputTokens: number | undefined;
  #finishReason: string | undefined;
  /** Of a body that is not a stream: all of it. Of a stream without events so far: its beginning. */
  #body: Buffer[] = [];
  #bodyLength = 0;
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
    this.#httpStatus = head.status;
    this.#statusText = head.statusText;
    this.#location = head.location;
    if (head.status !== 200) this.#isStream = false;
  }

  /** Reads what stands in `read` from `start` up to `end`, part of the body. Returns whether the answer has settled. */
  bytes(read: Buffer, start: number, end: number, atS: number): boolean {
    if (this.outcome !== undefined) return true;
    this.#atS = microseconds(atS);
    if (this.#isStream === undefined) this.#isStream = looksLikeStream(read, start, end);
    if (this.#isStream === false) this.#keep(read.subarray(start, end), MOST_KEPT);
    else {
      if (this.#firstEventS === undefined) this.#keep(read.subarray(start, end), 200);
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
    if (this.#firstEventS === undefined) {
      this.#firstEventS = this.#atS;
      this.#body = [];
    }
    this.#shapeIsUnseen = false;
    if (shape.isChoice) this.#hasChoice = true;
    this.#lastEventS = this.#atS;
    this.tokenTimesS.push(this.#atS);
    this.#tokenCounts = undefined;
    this.#count(1);
    if (shape.isAnswer) this.#firstAnswerTokenS ??= this.#atS;
    if (this.#keepText || this.#tally.serverCounts !== true) {
      this.#text.addBytes(read, matched.textStart, matched.textEnd);
    }
  }

  /** The body ended as it should. */
  end(atS: number): void {
    if (this.outcome !== undefined) return;
    this.#atS = microseconds(atS);
    if (this.#httpStatus !== 200) this.#settle('http_error', this.#httpError());
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
    if (this.#httpStatus === undefined) this.#settle('connection_error', message);
    else if (this.#httpStatus !== 200) this.#settle('http_error', this.#httpError());
    else this.#settle('truncated', `${message}, after ${counted(this.tokenTimesS.length, 'token event')}`);
  }

  giveUp(outcome: Extract<Outcome, 'timeout' | 'cancelled'>, reason: string, atS: number): void {
    if (this.outcome !== undefined) return;
    this.#atS = microseconds(atS);
    this.#settle(outcome, reason);
  }

  /** The record of a settled answer. Times in seconds since the start of the load, to the microsecond. */
  record(asked: AskedTokens, intendedSendS: number, sendS: number): RequestRecord {
    const times = this.tokenTimesS;
    const [firstTokenS] = times;
    const generates = this.#endpoint.generates;
    const lastTokenS = generates ? times.at(-1) : this.outcome === 'ok' ? this.endS : undefined;
    const counted = this.#counted;
    const tokenCounts = times.length > 0 ? this.#tokenCounts : undefined;
    const needsText = counted === undefined && times.length > 0 && this.#tally.serverCounts !== true;
    const showsText = this.#keepText || needsText;
    return {
      index: asked.index,
      outcome: this.outcome ?? 'cancelled',
      ...(this.#error === undefined ? {} : { error: this.#error }),
      ...(this.#httpStatus === undefined ? {} : { httpStatus: this.#httpStatus }),
      intendedSendS: microseconds(intendedSendS),
      sendS: microseconds(sendS),
      ...(this.#firstEventS === undefined ? {} : { firstEventS: this.#firstEventS }),
      ...(firstTokenS === undefined ? {} : { firstTokenS }),
      ...(this.#firstAnswerTokenS === undefined ? {} : { firstAnswerTokenS: this.#firstAnswerTokenS }),
      tokenTimesS: times,
      ...(tokenCounts === undefined ? {} : { tokenCounts }),
      ...(this.#emptyChoiceTimesS.length === 0 ? {} : { emptyChoiceTimesS: this.#emptyChoiceTimesS }),
      ...(this.#lastEventS === undefined ? {} : { lastEventS: this.#lastEventS }),
      ...(lastTokenS === undefined ? {} : { lastTokenS }),
      endS: this.endS,
      promptTokens: asked.promptTokens,
      ...(this.#serverPromptTokens === undefined ? {} : { serverPromptTokens: this.#serverPromptTokens }),
      ...(this.#cachedTokens === undefined ? {} : { cachedTokens: this.#cachedTokens }),
      outputTokensAsked: asked.outputTokens,
      outputTokens: counted ?? times.length,
      outputTokensBy: counted === undefined ? 'chunks' : 'server',
      ...(this.#finishReason === undefined ? {} : { finishReason: this.#finishReason }),
      ...(showsText ? { text: this.#text.toString() } : {}),
      malformedEvents: this.malformedEvents,
      ...(this.#malformedText === undefined ? {} : { malformedText: this.#malformedText }),
    };
  }

  /**
   * The output tokens as the server counted them: its total, else the sum of what its events said. A total of 0 beside
   * text that was seen is a field that nobody filled in.
   */
  get #counted(): number | undefined {
    const events = this.tokenTimesS.length;
    const total = this.#serverOutputTokens;
    if (total !== undefined && (total > 0 || events === 0)) return total;
    return events > 0 ? this.#tokenCounts?.reduce((sum, tokens) => sum + tokens, 0) : undefined;
  }

  /** Whether what came so far is a whole answer, should the body end now. */
  get #isFinished(): boolean {
    return this.#finishReason !== undefined || (this.#endpoint.endsWith === 'body' && this.#hasChoice);
  }

  #event(text: string, kind: SseKind): void {
    if (this.outcome !== undefined) return;
    if (this.#firstEventS === undefined) {
      this.#firstEventS = this.#atS;
      this.#body = [];
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
    this.#lastEventS = this.#atS;
    this.#read(kind === 'error' && !hasError(event) ? { error: event } : event);
  }

  #read(event: unknown): void {
    const said = this.#readEvent(event);
    this.#saidFirst ??= said;
    if (said.token) {
      this.tokenTimesS.push(this.#atS);
      if (said.tokens === undefined) this.#tokenCounts = undefined;
      else this.#tokenCounts?.push(said.tokens);
      this.#count(said.tokens ?? 1);
      if (said.answer) this.#firstAnswerTokenS ??= this.#atS;
    } else if (said.choice) this.#emptyChoiceTimesS.push(this.#atS);
    if (said.choice) this.#hasChoice = true;
    if (said.text !== undefined) this.#text.add(said.text);
    else if (said.textSoFar !== undefined) this.#text.replace(said.textSoFar);
    if (said.promptTokens !== undefined) this.#serverPromptTokens = said.promptTokens;
    if (said.cachedTokens !== undefined) this.#cachedTokens = said.cachedTokens;
    if (said.outputTokens !== undefined) this.#serverOutputTokens = said.outputTokens;
    if (said.finishReason !== undefined) this.#finishReason = said.finishReason;
    if (said.error !== undefined) this.#settle('in_band_error', said.error);
    else if (said.done) this.#complete();
  }

  #passOver(text: string): void {
    this.malformedEvents++;
    this.#malformedText ??= clip(text, 100);
  }

  #count(tokens: number): void {
    this.#tallied += tokens;
    this.#tally.outputTokens += tokens;
  }

  /** A terminal signal came. */
  #complete(): void {
    const isEmpty = this.tokenTimesS.length === 0 && !((this.#serverOutputTokens ?? 0) > 0);
    if (isEmpty && this.#endpoint.generates) {
      this.#settle('empty', 'the answer ended properly, but without a single token');
    } else this.#settle('ok');
  }

  /** A 200 that is no stream: a server that ignored `stream`, or an error. Its one event arrived just now. */
  #endWhole(): void {
    let event: unknown;
    try {
      event = JSON.parse(this.#bodyText());
    } catch {
      this.malformedEvents++;
      this.#settle('truncated', `the answer is neither a stream of events nor JSON: ${clip(this.#bodyText())}`);
      return;
    }
    this.#firstEventS = this.#atS;
    this.#lastEventS = this.#atS;
    this.#read(event);
    if (this.outcome !== undefined) return;
    const wanted = this.#endpoint.generates ? 'completion' : 'embedding';
    if (this.#isFinished) this.#complete();
    else this.#settle('in_band_error', `the answer holds no ${wanted}: ${clip(this.#bodyText())}`);
  }

  #settle(outcome: Outcome, error?: string): void {
    this.outcome = outcome;
    this.#error = error;
    this.endS = this.#atS;
    this.#body = [];
    if (this.#counted !== undefined) this.#tally.serverCounts = true;
    this.#count((this.#counted ?? this.tokenTimesS.length) - this.#tallied);
  }

  #httpError(): string {
    const said = `HTTP ${this.#httpStatus} ${this.#statusText}`.trimEnd();
    if (this.#location !== undefined) return `${said}: redirects to ${this.#location}; give that address instead`;
    const text = this.#bodyText();
    if (text === '') return said;
    let message: string | undefined;
    try {
      message = this.#endpoint.reader()(JSON.parse(text)).error;
    } catch {
      // Not JSON: shown as it is.
    }
    return `${said}: ${message ?? clip(text)}`;
  }

  #truncation(): string {
    const events = this.#firstEventS === undefined ? `; it begins with: ${clip(this.#bodyText(), 200)}` : '';
    const tokens = counted(this.tokenTimesS.length, 'token event');
    return `the body ended after ${tokens} without a sign that the answer is complete${this.#bodyLength > 0 ? events : ''}`;
  }

  #keep(chunk: Buffer, most: number): void {
    if (this.#bodyLength >= most) return;
    this.#body.push(Buffer.from(chunk.subarray(0, most - this.#bodyLength)));
    this.#bodyLength += chunk.length;
  }

  #bodyText(): string {
    return Buffer.concat(this.#body).toString('utf8').trim();
  }
}

/**
 * Judged by the bytes, since gateways send streams under any content type: JSON begins with a brace or a bracket, and
 * no line of a stream does.
 */
function looksLikeStream(read: Buffer, start: number, end: number): boolean | undefined {
  for (let at = start; at < end; at++) {
    const byte = read[at];
    if (byte === 0x7b || byte === 0x5b) return false;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return true;
  }
  return undefined;
}

const hasError = (event: unknown): boolean => typeof event === 'object' && event !== null && 'error' in event;

const microseconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

const clip = (text: string, most = 500): string => (text.length > most ? `${text.slice(0, most)}...` : text);

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
