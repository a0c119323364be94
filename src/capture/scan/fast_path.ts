// Runs of plain items, indexed by the WebAssembly scan; and when it is worth trying it.

import type { ScanArena } from "../wasm/scan_arena.ts";
import type { EventIndex } from "./event_index.ts";
import { type JsonWalker, stopped } from "./json_walker.ts";

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
   * Indexes the plain items in about `bytesMax` bytes, and takes the walk behind them; returns how many. The item it
   * stops before goes the slow way.
   */
  index(fast: ScanArena, walk: JsonWalker, bytesMax: number, index: EventIndex): number {
    const { count, room, items } = index;
    const goal = walk.at + bytesMax;
    walk.goal = Math.min(walk.bytes.length, goal);
    if (walk.peek() === stopped) return 0;
    const most = Math.min(room, count + Math.ceil(bytesMax / entryCost));
    walk.at = fast.scan(walk.at, goal, [count, most], items, index.firstKey);
    const { found } = fast;
    index.count += found;
    index.items += found;
    // Where one item is unusual, the next ones are likely to be.
    this.#patience = found > 0 ? 0 : Math.min(slowItemsMax, this.#patience * 2 + 1);
    this.#slowItems = this.#patience;
    if (found > 0) this.comma = fast.comma;
    return found;
  }
}

/** What an item costs at the least, in bytes, the slow way. */
export const itemBytesLeast = 32;
/** The same the fast way: its entry is longer than that, and touches memory for the first time. */
export const entryCost = 64;
/** The most items before the fast way is tried again. */
const slowItemsMax = 64;
