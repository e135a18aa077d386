import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { now } from '../kit/clock.ts';
import { ResponseReader, type ResponseSink } from './response.ts';

/** Where connections lead, and how. */
export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** PEM certificates to trust besides the well-known ones. */
  readonly ca?: string;
}

/** What a connection has to say to the request that it carries. */
export interface ConnectionSink extends ResponseSink {
  /** There is no connection, or it ended before the response did. */
  lost(error: Error): void;
}

/**
 * What every plain connection reads into. One read is dealt with before the next begins, so one buffer serves all, and
 * no read costs an allocation of its own.
 */
const readInto = Buffer.allocUnsafeSlow(256 << 10);

/** One connection to the server: carries requests one after the other. */
export class Connection {
  readonly socket: Socket;
  /** It has been idle before, so the server may have closed it without our knowing. */
  wasIdle = false;
  /** Reads that brought something, of all requests. */
  reads = 0;
  /** Bytes have come since the last request went out. */
  answered = false;
  /** When the read that is being dealt with took place: what one read brings has one time. */
  readAtS = 0;
  #closed = false;
  #sink: ConnectionSink | undefined;
  readonly #reader = new ResponseReader();

  constructor({ host, port, secure, ca }: Peer, address: string) {
    const where = { host: address, port, noDelay: true, keepAlive: true };
    if (secure) {
      const servername = isIP(host) === 0 ? host : '';
      this.socket = connectTls({ ...where, servername, ALPNProtocols: ['http/1.1'], ...(ca ? { ca } : {}) });
      this.socket.on('data', (bytes: Buffer) => this.#read(bytes, bytes.length));
    } else {
      const callback = (length: number): boolean => {
        this.#read(readInto, length);
        return true;
      };
      this.socket = connectTcp({ ...where, onread: { buffer: readInto, callback } });
    }
    this.socket.on('error', (error) => this.#lost(error));
    this.socket.on('end', () => this.#ended());
    this.socket.on('close', () => this.#ended());
  }

  /** It can carry a request. */
  get usable(): boolean {
    return !this.#closed && !this.socket.destroyed && this.socket.writable;
  }

  /** Sends a request, head and body, whose response goes to the sink. */
  send(request: Buffer, sink: ConnectionSink): void {
    this.#sink = sink;
    this.answered = false;
    this.#reader.reset();
    this.socket.write(request);
  }

  /** Ends the connection; nothing more is told to anybody. */
  drop(): void {
    this.#sink = undefined;
    this.#closed = true;
    this.socket.destroy();
  }

  #read(bytes: Buffer, length: number): void {
    this.reads++;
    const sink = this.#sink;
    if (!sink) {
      // Nobody asked: what else may come can no longer be told from an answer.
      this.drop();
      return;
    }
    this.answered = true;
    this.readAtS = now();
    try {
      this.#reader.push(bytes, 0, length, this);
    } catch (error) {
      this.#lost(error instanceof Error ? error : new Error(String(error)));
      this.drop();
    }
  }

  head(head: Parameters<ResponseSink['head']>[0]): void {
    this.#sink?.head(head);
  }

  body(bytes: Buffer, start: number, end: number): void {
    this.#sink?.body(bytes, start, end);
  }

  complete(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.wasIdle = true;
    if (!this.#reader.reusable) this.drop();
    sink?.complete();
  }

  #ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.readAtS = now();
    if (this.#sink && this.#reader.endsHere()) this.complete();
    else this.#lost(new Error(this.answered ? 'the connection closed in the middle of the body' : hangUp));
    this.socket.destroy();
  }

  #lost(error: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#closed = true;
    sink?.lost(error);
  }
}

/** The server closed the connection instead of answering. */
export const hangUp = 'the server closed the connection without an answer';
