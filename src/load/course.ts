const NEXT = 0;
const STOPPED = 1;
const IN_FLIGHT = 2;

/** What each thread counts for itself; the thread that tells the progress reads it. */
const counterAt = { sent: 0, ok: 1, failed: 2, outputTokens: 3, bytesHeard: 4 } as const;
export type Counter = keyof typeof counterAt;
const countersOfThread = Object.keys(counterAt).length;

/** The memory of a course; another thread makes a course of its own over it. */
export interface CourseMemory {
  readonly control: SharedArrayBuffer;
  readonly due: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
}

/**
 * How far a load is, in memory that all of its threads share: which request comes next and when it is due, how many are
 * in flight, and what each thread has counted. Requests are given out one by one, in their order, to whichever thread
 * has a place for one: no thread holds work that another could do, and what is sent does not depend on their number.
 */
export class Course {
  readonly memory: CourseMemory;
  /** When each request is due, seconds after the start of the load, ascending. */
  readonly due: Float64Array;
  readonly #control: Int32Array;
  readonly #counts: Float64Array;

  constructor(memory: CourseMemory) {
    this.memory = memory;
    this.due = new Float64Array(memory.due);
    this.#control = new Int32Array(memory.control);
    this.#counts = new Float64Array(memory.counts);
  }

  static of(due: Float64Array, threads: number): Course {
    const course = new Course({
      control: new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT),
      due: new SharedArrayBuffer(due.byteLength),
      counts: new SharedArrayBuffer(threads * countersOfThread * Float64Array.BYTES_PER_ELEMENT),
    });
    course.due.set(due);
    return course;
  }

  /** Index of the next request: how many were given out. */
  get next(): number {
    return Atomics.load(this.#control, NEXT);
  }

  /** Takes the request `index`, the next one, unless another thread was faster. */
  claim(index: number): boolean {
    return Atomics.compareExchange(this.#control, NEXT, index, index + 1) === index;
  }

  /** Nothing more is given out. */
  stop(): void {
    Atomics.store(this.#control, STOPPED, 1);
  }

  get stopped(): boolean {
    return Atomics.load(this.#control, STOPPED) === 1;
  }

  /** Requests of all threads that are in flight. */
  get inFlight(): number {
    return Atomics.load(this.#control, IN_FLIGHT);
  }

  /** One more is in flight; gives how many there are now. */
  enter(): number {
    return Atomics.add(this.#control, IN_FLIGHT, 1) + 1;
  }

  leave(): void {
    Atomics.sub(this.#control, IN_FLIGHT, 1);
  }

  /** Only the thread itself counts. */
  count(thread: number, counter: Counter, more: number): void {
    const at = thread * countersOfThread + counterAt[counter];
    this.#counts[at] = (this.#counts[at] as number) + more;
  }

  /** Over all threads. */
  total(counter: Counter): number {
    let sum = 0;
    for (let at = counterAt[counter]; at < this.#counts.length; at += countersOfThread) {
      sum += this.#counts[at] as number;
    }
    return sum;
  }
}
