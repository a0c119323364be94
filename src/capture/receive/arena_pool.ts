// The arenas: which wait for a body, and which may still be made.

import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { receiveLimits } from "./limits.ts";
import { ScanArena } from "../wasm/scan_arena.ts";

/** Arenas that wait for the next long body, and how many there may be. */
export class ArenaPool {
  readonly #bodyBytesMax: number;
  readonly #free: ScanArena[] = [];
  #short: ScanArena | undefined;
  #out = 0;
  /** One for inflated bodies that are longer than usual. */
  #long: ScanArena | undefined;
  #longOut = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `bodyBytesMax`: the longest usual body; of arenas for longer ones, there is one. */
  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Room for a body of so many bytes; undefined when all are in use, and then any memory does. */
  take(bytes: number): ScanArena | undefined {
    if (bytes > this.#bodyBytesMax) return this.#takeLong(bytes);
    if (this.#out >= receiveLimits.arenasMax) return undefined;
    this.#out++;
    clearTimeout(this.#timer);
    return this.#free.pop() ?? new ScanArena(this.#bodyBytesMax);
  }

  /** There is never more than one: each takes 130 MB. */
  #takeLong(bytes: number): ScanArena | undefined {
    if (this.#longOut) return undefined;
    this.#longOut = true;
    clearTimeout(this.#timer);
    const kept = this.#long;
    this.#long = undefined;
    if (kept && kept.body.length >= bytes) return kept;
    return new ScanArena(Math.max(bytes, limits.inflatedBytesMax));
  }

  /** The one for short bodies, which several requests use: each within one turn, and it is not given back. */
  get short(): ScanArena {
    return (this.#short ??= new ScanArena(captureLimits.arenaBodyBytesMin, true));
  }

  give(arena: ScanArena): void {
    if (arena.body.length > this.#bodyBytesMax) {
      this.#longOut = false;
      this.#long = arena;
    } else {
      this.#out--;
      this.#free.push(arena);
    }
    this.#letGoAfter(receiveLimits.arenaIdleMs);
  }

  #letGoAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#letGo(), ms);
    this.#timer.unref();
  }

  /**
   * Lets one arena go. Its memory is the system's again when garbage is collected, which a server at rest has no reason
   * to do: it is told to. That takes 5 to 10 ms for each arena, so that they go one by one.
   */
  #letGo(): void {
    if (this.#long) this.#long = undefined;
    else if (!this.#free.pop()) return;
    Bun.gc(true);
    this.#letGoAfter(receiveLimits.arenaGapMs);
  }
}
