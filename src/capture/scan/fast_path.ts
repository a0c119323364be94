// Plain items on their way into the index, as many at once as the arena takes; and when it is worth asking. Never looks
// at one itself.

import type { ScanArena } from "../wasm/scan_arena.ts";
import { type JsonWalker, stopped } from "./json_walker.ts";

/** Where the next items go. */
interface Target {
  /** Entries there are, and room for. */
  count: number;
  room: number;
  /** Items seen. */
  items: number;
  /** The raw key they must name, or none. */
  key: readonly [number, number];
}

export class FastPath {
  /** The last one indexed had a comma behind it. */
  comma = false;
  /** So many items go the slow way before the fast one is tried again; the last time it was #patience. */
  #slowItems = 0;
  #patience = 0;

  /** Whether it is worth asking for the next item. */
  isDue(): boolean {
    return --this.#slowItems < 0;
  }

  /**
   * Indexes what is plain of about `bytesMax` bytes, and takes the walk behind it; returns how many.
   * What it stops before is the slow way's.
   */
  index(arena: ScanArena, walk: JsonWalker, bytesMax: number, { count, room, items, key }: Target): number {
    const goal = walk.at + bytesMax;
    walk.goal = Math.min(walk.bytes.length, goal);
    if (walk.peek() === stopped) return 0;
    const most = Math.min(room, count + Math.ceil(bytesMax / entryCost));
    walk.at = arena.scan(walk.at, goal, [count, most], items, key);
    const { found } = arena;
    // Where one item is unusual, the next ones are likely to be.
    this.#patience = found > 0 ? 0 : Math.min(slowItemsMax, this.#patience * 2 + 1);
    this.#slowItems = this.#patience;
    if (found > 0) this.comma = arena.comma;
    return found;
  }
}

/** What an item costs at the least, in bytes, the slow way. */
export const itemBytesLeast = 32;
/** The same the fast way: its entry is longer than that, and touches memory for the first time. */
export const entryCost = 64;
/** The most items before the fast way is tried again. */
const slowItemsMax = 64;
