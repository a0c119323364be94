// Folds the stored changes of each key into a person's properties, with the same result as the view person_properties.

import { personLimits } from "../limits.ts";

/** A row of person_props, aggregated by ClickHouse. */
export interface KeptChange {
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
export type MergedAt = (distinct_id: string) => number | undefined;

interface Change {
  senior: number;
  /** Order among changes made before the merge: an id merged earlier wins. */
  weak: number;
  at: number;
  tie: bigint;
  op: number;
  value: string;
  entered: number;
}

const tieMax = (1n << 128n) - 1n;

/** JSON text of an object, the latest changed key first, cut at personLimits.personBytesMax. */
export function foldProperties(rows: readonly KeptChange[], mergedAt: MergedAt): string {
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

function foldKey(rows: readonly KeptChange[], mergedAt: MergedAt): Change | undefined {
  let last: Change | undefined;
  const onces: Change[] = [];
  for (const row of rows) {
    const change = changeOf(row, mergedAt(row.distinct_id));
    if (row.kind !== 0) onces.push(change);
    else if (!last || isAfter(change, last)) last = change;
  }
  if (last?.op === 0) return last;
  const unset = last;
  const later = unset ? onces.filter((once) => isAfter(once, unset)) : onces;
  return later.reduce<Change | undefined>(
    (first, one) => (first && !enters(one, first) ? first : one),
    undefined,
  );
}

function changeOf({ kind, at, tie, op, value }: KeptChange, merged: number | undefined): Change {
  const micros = kind === 1 ? -Number(at) : Number(at);
  const number = kind === 1 ? tieMax - BigInt(tie) : BigInt(tie);
  const senior = merged === undefined || micros >= merged ? 1 : 0;
  const weak = senior ? 0 : -merged!;
  return { senior, weak, at: micros, tie: number, op, value, entered: senior ? micros : merged! };
}

function isAfter(one: Change, other: Change): boolean {
  if (one.senior !== other.senior) return one.senior > other.senior;
  if (one.weak !== other.weak) return one.weak > other.weak;
  return one.at === other.at ? one.tie > other.tie : one.at > other.at;
}

/** Whether `one` joined the person earlier than `other`. */
function enters(one: Change, other: Change): boolean {
  if (one.entered !== other.entered) return one.entered < other.entered;
  if (one.senior !== other.senior) return one.senior < other.senior;
  return one.at === other.at ? one.tie < other.tie : one.at < other.at;
}
