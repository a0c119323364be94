// A person as read, whose properties are folded from the stored changes of each key, with the same result as the view
// person_properties.

import { personLimits } from "../limits.ts";

export interface Person {
  uuid: string;
  /** The main id first, then the others sorted by bytes; at most personLimits.distinctIdsShownMax. */
  distinct_ids: string[];
  distinct_ids_count: number;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
  /** The time of the last event under any of its ids, in the same form. */
  last_seen_at: string;
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

/** Compared element by element, as in current_store.ts. */
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
  const keys = Map.groupBy(rows, (row) => row.key).values();
  return writeProperties([...keys].flatMap((changes) => foldKey(changes, mergedAt) ?? []));
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

function foldKey(rows: readonly StoredChange[], mergedAt: ReadMerged) {
  const changes = rows.map((row) => toChange(row, mergedAt(row.distinct_id)));
  const [last] = changes.filter(({ kind }) => kind === 0).toSorted((a, b) => compare(b.rank, a.rank));
  if (last?.op === 0) return last;
  const later = changes.filter(({ kind, rank }) => kind !== 0 && (!last || compare(rank, last.rank) > 0));
  return later.toSorted((a, b) => compare(a.entry, b.entry))[0];
}

/** The change with the higher rank is later; of changes before a merge, that of the id merged earlier wins. */
function toChange({ tie, ...change }: StoredChange, merged: number | undefined) {
  const [at, number] = [Number(change.at), BigInt(tie)];
  const isSenior = merged === undefined || at >= merged;
  const rank: Order = [isSenior ? 1 : 0, isSenior ? 0 : -merged, at, number];
  /** When it joined the person: a lower entry is earlier. */
  const entry: Order = [isSenior ? at : merged, rank[0], at, number];
  return { ...change, at, rank, entry };
}

function compare(left: Order, right: Order): number {
  for (const [i, part] of left.entries()) if (part !== right[i]) return part > right[i]! ? 1 : -1;
  return 0;
}
