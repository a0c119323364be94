// The slabs there are: which wait for a body, and which may still be made. Never knows what lies in one.

import { limits } from "../core/limits.ts";
import { Slab } from "./slab.ts";

/** Slabs that wait for the next long body, and how many there may be. */
export class Slabs {
  readonly #bodyBytesMax: number;
  readonly #free: Slab[] = [];
  #short: Slab | undefined;
  #out = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** One for inflated bodies that are longer than usual: to free its memory takes 10 ms of one turn. */
  #long: Slab | undefined;
  #longTimer: ReturnType<typeof setTimeout> | undefined;

  /** `bodyBytesMax`: the longest usual body; of slabs for longer ones, one is kept. */
  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Room for a body of so many bytes; undefined when all are in use, and then any memory does. */
  take(bytes: number): Slab | undefined {
    if (this.#out >= limits.slabsMax) return undefined;
    this.#out++;
    if (bytes > this.#bodyBytesMax) return this.#takeLong(bytes);
    clearTimeout(this.#timer);
    return this.#free.pop() ?? new Slab(this.#bodyBytesMax);
  }

  #takeLong(bytes: number): Slab {
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
    this.#out--;
    if (slab.body.length > this.#bodyBytesMax) {
      this.#long = slab;
      clearTimeout(this.#longTimer);
      this.#longTimer = setTimeout(() => (this.#long = undefined), limits.slabIdleMs);
      this.#longTimer.unref();
      return;
    }
    this.#free.push(slab);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#free.length = 0), limits.slabIdleMs);
    this.#timer.unref();
  }
}
