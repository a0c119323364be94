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
  /** Microseconds since 1970. */
  at: string;
  tie: string;
  /** 0 set, 1 set_once, 2 unset. */
  op: number;
  /** JSON text. */
  value: string;
}

interface Change {
  /** The change with the higher rank is later; of changes before a merge, that of the id merged earlier wins. */
  rank: Order;
  /** When it joined the person: a lower entry is earlier. */
  entry: Order;
  at: number;
  op: number;
  value: string;
}

/** As in current_store.ts, compared element by element. */
type Order = readonly [number, number, number, bigint];

export interface CurrentValue {
  key: string;
  /** When it was changed, in microseconds since 1970. */
  at: number;
  /** JSON text. */
  value: string;
}

/** Returns when a distinct id was merged into its main id, in microseconds; undefined for a main id. */
type ReadMerged = (distinct_id: string) => number | undefined;

/** A person's properties, as writeProperties(). */
export function foldProperties(rows: readonly StoredChange[], mergedAt: ReadMerged): string {
  const members: CurrentValue[] = [];
  for (const [key, kept] of Map.groupBy(rows, (row) => row.key)) {
    const found = foldKey(kept, mergedAt);
    if (found) members.push({ key, at: found.at, value: found.value });
  }
  return writeProperties(members);
}

/** JSON text of an object, the latest changed key first, cut at personLimits.personBytesMax. */
export function writeProperties(members: CurrentValue[]): string {
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

function foldKey(rows: readonly StoredChange[], mergedAt: ReadMerged): Change | undefined {
  const changes = rows.map((row) => toChange(row, mergedAt(row.distinct_id)));
  const sets = changes.filter((_, i) => rows[i]!.kind === 0).toSorted((a, b) => compare(b.rank, a.rank));
  const [last] = sets;
  if (last?.op === 0) return last;
  const later = changes.filter(
    (once, i) => rows[i]!.kind !== 0 && (!last || compare(once.rank, last.rank) > 0),
  );
  return later.toSorted((a, b) => compare(a.entry, b.entry))[0];
}

function toChange({ at, tie, op, value }: StoredChange, merged: number | undefined): Change {
  const [micros, number] = [Number(at), BigInt(tie)];
  const isSenior = merged === undefined || micros >= merged;
  const rank = [isSenior ? 1 : 0, isSenior ? 0 : -merged, micros, number] as const;
  const entry = [isSenior ? micros : merged, rank[0], micros, number] as const;
  return { rank, entry, at: micros, op, value };
}

function compare(left: Order, right: Order): number {
  for (const [i, own] of left.entries()) if (own !== right[i]) return own > right[i]! ? 1 : -1;
  return 0;
}
