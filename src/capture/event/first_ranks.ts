// The ranks of events that changed a person or group, by uuid: an event that is sent again keeps its first one.

import { type EntryOffset, field, type Indexed } from "../fields/event_fields.ts";
import { captureLimits } from "../limits.ts";
import type { IdentityBatch } from "../wasm/scan_arena.ts";

export class FirstRanks {
  /** Four words of the uuid in each slot; a later uuid of a slot replaces the earlier one. */
  readonly #uuids = new Uint32Array(captureLimits.firstRanksMax * 4);
  readonly #ranks = new Float64Array(captureLimits.firstRanksMax);

  /** The rank of the first arrival of the uuid at words[at], which is now at `rank`. */
  settle(words: Uint32Array, at: number, rank: number): number {
    const slot = (words[at + 2]! ^ Math.imul(words[at]!, 0x9e3779b1)) & (captureLimits.firstRanksMax - 1);
    const uuids = this.#uuids;
    let isKnown = true;
    for (let i = 0; i < 4; i++) {
      if (uuids[slot * 4 + i] === words[at + i]) continue;
      isKnown = false;
      uuids[slot * 4 + i] = words[at + i]!;
    }
    if (!isKnown) this.#ranks[slot] = rank;
    return this.#ranks[slot]!;
  }

  /** Settles the ranks of rows that are columns. */
  settleMany({ changes, uuids, ranks }: IdentityBatch, rows: number): void {
    if (changes === 0) return;
    for (let row = 0; row < rows; row++) {
      const rank = ranks[row * 2]! + ranks[row * 2 + 1]! * 2 ** 32;
      if (rank === 0) continue;
      const first = this.settle(uuids, row * 4, rank);
      if (first === rank) continue;
      ranks[row * 2] = first % 2 ** 32;
      ranks[row * 2 + 1] = first / 2 ** 32;
    }
  }
}

/** The rank that an importer gave entry `at`: a whole number. */
export function readRank({ bytes, entries }: Indexed, at: EntryOffset): number | undefined {
  const [from, to] = [entries[at + field.rank]!, entries[at + field.rank + 1]!];
  if (to === from || to - from > captureLimits.rankDigitsMax) return undefined;
  let rank = 0;
  for (let i = from; i < to; i++) {
    if (bytes[i]! < 0x30 || bytes[i]! > 0x39) return undefined;
    rank = rank * 10 + bytes[i]! - 0x30;
  }
  return rank;
}
