// The project key that a body's items name. Compares raw bytes; never says whose it is.

type Place = readonly [from: number, to: number];
const none: Place = [0, 0];

export class ItemKey {
  /** Where the first one lies, quotes included; 0, 0 before there is one. */
  first: Place = none;
  /** A later one is another. */
  differs = false;
  /** The open item's own key, and the one in its properties, which counts when it has none of its own. */
  own: Place = none;
  inner: Place = none;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Forgets all of it: what was seen before does not count. */
  clear(): void {
    this.first = none;
    this.differs = false;
  }

  openItem(): void {
    this.own = none;
    this.inner = none;
  }

  closeItem(): void {
    const [from, to] = this.own[1] > 0 ? this.own : this.inner;
    if (to === 0) return;
    const [known, end] = this.first;
    if (end === 0) this.first = [from, to];
    else if (!this.differs) {
      this.differs = to - from !== end - known;
      for (let i = 0; i < to - from && !this.differs; i++) {
        this.differs = this.#bytes[from + i] !== this.#bytes[known + i];
      }
    }
  }
}
