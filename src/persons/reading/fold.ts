// A person as read, whose properties are folded from the stored changes of each key, with the same result as the view
// person_properties.

import { personLimits } from "../limits.ts";

export interface Person {
  uuid: string;
  /** The main id first, then the others sorted by bytes; at most personLimits.distinctIdsShownMax. */
  distinct_ids: string[];
  /** Number of all distinct ids. */
  distinct_ids_count: number;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
  is_identified: boolean;
}

/** A row of person_props, aggregated by ClickHouse. */
export interface StoredChange {
  distinct_id: string;
  key: string;
  /** 0: the latest set or unset; 1: the first set_once; 2: the latest set_once. */
  kind: number;
  /** As stored: for kind 1, `at` is negated and the bits of `tie` are inverted, so that max() finds the first. */
  at: string;
  tie: string;
  /** 0 set, 1 set_once, 2 unset. */
  op: number;
  /** JSON text. */
  value: string;
}

/** When a distinct id was merged into its main id, in microseconds; undefined for a main id. */
type MergedAt = (distinct_id: string) => number | undefined;

interface Change {
  /** The change with the higher rank is later; of changes before a merge, that of the id merged earlier wins. */
  rank: Order;
  /** When it joined the person: a lower entry is earlier. */
  entry: Order;
  at: number;
  op: number;
  value: string;
}

/** As in large_store.ts, compared element by element. */
type Order = readonly [number, number, number, bigint];

const tieMax = (1n << 128n) - 1n;

/** JSON text of an object, the latest changed key first, cut at personLimits.personBytesMax. */
export function foldProperties(rows: readonly StoredChange[], mergedAt: MergedAt): string {
  const members: { key: string; at: number; value: string }[] = [];
  for (const [key, kept] of Map.groupBy(rows, (row) => row.key)) {
    const found = foldKey(kept, mergedAt);
    if (found) members.push({ key, at: found.at, value: found.value });
  }
  members.sort((a, b) => b.at - a.at || (a.key < b.key ? -1 : 1));
  let bytes = 0;
  const texts: string[] = [];
  for (const { key, value } of members) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (bytes > personLimits.personBytesMax) break;
    texts.push(`${JSON.stringify(key)}:${value}`);
  }
  return `{${texts.join(",")}}`;
}

function foldKey(rows: readonly StoredChange[], mergedAt: MergedAt): Change | undefined {
  let last: Change | undefined;
  const onces: Change[] = [];
  for (const row of rows) {
    const change = changeOf(row, mergedAt(row.distinct_id));
    if (row.kind !== 0) onces.push(change);
    else if (!last || compare(change.rank, last.rank) > 0) last = change;
  }
  if (last?.op === 0) return last;
  const unset = last;
  const later = unset ? onces.filter((once) => compare(once.rank, unset.rank) > 0) : onces;
  return later.reduce<Change | undefined>(
    (first, one) => (first && compare(one.entry, first.entry) >= 0 ? first : one),
    undefined,
  );
}

function changeOf({ kind, at, tie, op, value }: StoredChange, merged: number | undefined): Change {
  const micros = kind === 1 ? -Number(at) : Number(at);
  const number = kind === 1 ? tieMax - BigInt(tie) : BigInt(tie);
  const isSenior = merged === undefined || micros >= merged;
  const rank = [isSenior ? 1 : 0, isSenior ? 0 : -merged, micros, number] as const;
  const entry = [isSenior ? micros : merged, rank[0], micros, number] as const;
  return { rank, entry, at: micros, op, value };
}

function compare(one: Order, other: Order): number {
  for (const [i, own] of one.entries()) if (own !== other[i]) return own > other[i]! ? 1 : -1;
  return 0;
}
