// The slabs there are: which wait for a body, and which may still be made. Never knows what lies in one.

import { limits } from "../core/limits.ts";
import { Slab } from "./slab.ts";

/** Slabs that wait for the next long body, and how many there may be. */
export class Slabs {
  readonly #bodyBytesMax: number;
  readonly #free: Slab[] = [];
  #short: Slab | undefined;
  #out = 0;
  /** One for inflated bodies that are longer than usual. */
  #long: Slab | undefined;
  #longOut = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `bodyBytesMax`: the longest usual body; of slabs for longer ones, there is one. */
  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Room for a body of so many bytes; undefined when all are in use, and then any memory does. */
  take(bytes: number): Slab | undefined {
    if (bytes > this.#bodyBytesMax) return this.#takeLong(bytes);
    if (this.#out >= limits.slabsMax) return undefined;
    this.#out++;
    clearTimeout(this.#timer);
    return this.#free.pop() ?? new Slab(this.#bodyBytesMax);
  }

  /** There is never more than one: each takes 130 MB. */
  #takeLong(bytes: number): Slab | undefined {
    if (this.#longOut) return undefined;
    this.#longOut = true;
    clearTimeout(this.#timer);
    const kept = this.#long;
    this.#long = undefined;
    if (kept && kept.body.length >= bytes) return kept;
    return new Slab(Math.max(bytes, limits.inflatedBytesMax));
  }

  /** The one for short bodies: whoever uses it does so in one turn, and need not give it back. */
  get short(): Slab {
    return (this.#short ??= new Slab(limits.slabBodyBytesMin));
  }

  /** The same, or none for others. */
  lend({ length }: Uint8Array): Slab | undefined {
    return length < limits.slabBodyBytesMin ? this.short : undefined;
  }

  give(slab: Slab): void {
    if (slab.body.length > this.#bodyBytesMax) {
      this.#longOut = false;
      this.#long = slab;
    } else {
      this.#out--;
      this.#free.push(slab);
    }
    this.#letGoAfter(limits.slabIdleMs);
  }

  #letGoAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#letGo(), ms);
    this.#timer.unref();
  }

  /**
   * Lets one slab go. Its memory is the system's again when garbage is collected, which a server at rest has no reason
   * to do: it is told to. That takes 5 to 10 ms for each slab, so that they go one by one.
   */
  #letGo(): void {
    if (this.#long) this.#long = undefined;
    else if (!this.#free.pop()) return;
    Bun.gc(true);
    this.#letGoAfter(limits.slabGapMs);
  }
}
