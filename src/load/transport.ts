/** The head of an answer. */
export interface ResponseHead {
  readonly status: number;
  /** `Not Found`. */
  readonly statusText: string;
  /** Where a redirect points to. */
  readonly location?: string;
  /** `content-encoding`, where the body is not plain: nobody asked for it, so it is not decoded. */
  readonly encoding?: string;
}

/** Gets what comes back for one request. Times are absolute, on the clock of `kit/clock.ts`, taken when it was read. */
export interface ExchangeSink {
  head(head: ResponseHead, atS: number): void;
  /**
   * Some bytes of the body, from `start` up to `end` of what was read; they are valid only during the call. True says that
   * nothing more is wanted: then neither `bytes` nor `end` nor `broken` follows.
   */
  bytes(read: Buffer, start: number, end: number, atS: number): boolean;
  /** The body ended as it should. */
  end(atS: number): void;
  /** There is no connection, or it broke. */
  broken(error: Error, atS: number): void;
  /** Exactly once, after everything else: the connection can serve another request, or is gone. */
  released(atS: number): void;
}

/** One request under way. */
export interface Exchange {
  /** Drops the connection. Of the sink only `released` is called any more, before this returns. */
  cancel(): void;
}

/** What carries the requests of one load to one URL. */
export interface Transport {
  /** `id` goes out as the header `x-request-id`. */
  send(body: Buffer, sink: ExchangeSink, id?: string): Exchange;
  /** Connections opened so far, the ones before the load included. */
  readonly socketsOpened: number;
  /** Requests that were sent a second time because the idle connection they went out on had been closed meanwhile. */
  readonly staleRetries: number;
  /** Reads of connections that brought something. */
  readonly reads: number;
  /** Drops every connection. */
  close(): void;
}
