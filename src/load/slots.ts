/** The places that a limit on concurrency gives out. It knows since when each was free: the moment its request was due. */
export class Slots {
  readonly #limit: number;
  /** When the free ones became free, earliest first. Not filled beforehand: never used means free since 0. */
  readonly #freedAtS: number[] = [];
  #head = 0;
  #used = 0;
  #open = 0;
  #most = 0;

  /** No limit: null. */
  constructor(limit: number | null) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
  }

  get free(): boolean {
    return this.#open < this.#limit;
  }

  /** Given out now. */
  get open(): number {
    return this.#open;
  }

  /** Most that were given out at once. */
  get most(): number {
    return this.#most;
  }

  /** Takes a place; returns since when it was free, in seconds since the start of the load. */
  take(): number {
    this.#open++;
    if (this.#open > this.#most) this.#most = this.#open;
    if (this.#used < this.#limit) {
      this.#used++;
      return 0;
    }
    const freedAtS = this.#freedAtS[this.#head] ?? 0;
    this.#head++;
    if (this.#head > 1024) {
      this.#freedAtS.splice(0, this.#head);
      this.#head = 0;
    }
    return freedAtS;
  }

  give(atS: number): void {
    this.#open--;
    if (Number.isFinite(this.#limit)) this.#freedAtS.push(atS);
  }
}
