// A value of the statement: its text, and what is known of it.

import type { Placed } from "../tree.ts";

export type SqlType =
  "string" | "number" | "boolean" | "datetime" | "date" | "uuid" | "json" | "array" | "interval" | "unknown";

/** A step of a path: the name of a column or member, or an index in a list. */
export type PathKey = string | number;

/** The type of a property, as definitions name it. */
export type KnownType = "String" | "Numeric" | "Boolean" | "DateTime";

/** The known type of an owner's property. */
export type PropertyTypes = (owner: "event" | "person" | "group", name: string) => KnownType | undefined;

/** An expression of the statement. */
export interface Sql {
  sql: string;
  type: SqlType;
  nullable: boolean;
  /** A property's value as text, whatever type it is read as. */
  text?: string;
  /** A constant's value. */
  constant?: string | number | bigint | boolean | null;
  /** Its cost, once its expression is compiled. */
  cost?: Cost | undefined;
  /** Of an event's moment, or a rounded one: the column of the engine's index. */
  floor?: {
    /** The column in UTC, as the engine stores it. */
    raw: () => string;
    /** How many days the value may be before it; 0 when it is the column itself. */
    days: number;
    /** Adds a condition that every row meets to the table: `raw` compared with a constant. */
    limit?: (sign: string, bound: string) => void;
  };
}

export interface Cost {
  /** Characters of the value, or items of an array with theirs. */
  size: number;
  /** Items of an array, where the query says how many. */
  count?: number | undefined;
  /** Calls that it takes for one row. */
  steps: number;
  /** Characters that these read of what the query itself makes. */
  chars: number;
  /** Whether it is one value for all rows. */
  isFixed: boolean;
}

/** `start` and `end` count characters (code points) of the text from 0. */
export class SqlProblem extends Error {
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** The SQL filter that has the problem, where it is not in the query's text. */
  filter?: { text: string; attr: string };

  constructor(message: string, at?: Placed) {
    super(message);
    this.start = at?.start?.offset;
    this.end = at?.end?.offset;
  }
}

/** @throws SqlProblem */
export function refuse(message: string, at?: Placed): never {
  throw new SqlProblem(message, at);
}

/** A name of the client's, short enough for a message. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
}

/** Bounds the edit-distance search for a similar name to a few ms. */
const namesComparedMax = 1000;
const nameComparedCharsMax = 40;

/** ` Did you mean "x"?` when one of the first known names is similar; empty otherwise. */
export function suggestion(name: string, known: Iterable<string>): string {
  if (name.length > nameComparedCharsMax) return "";
  const lowerName = name.toLowerCase();
  let best: string | undefined;
  let least = Math.min(lowerName.length - 1, Math.max(2, Math.floor(lowerName.length / 3))) + 1;
  let compared = 0;
  for (const text of known) {
    if (++compared > namesComparedMax) break;
    if (text === name || Math.abs(text.length - lowerName.length) >= least) continue;
    const distance = editsBetween(lowerName, text.toLowerCase());
    if (distance < least) [best, least] = [text, distance];
  }
  return best === undefined ? "" : ` Did you mean "${best}"?`;
}

/** The number of insertions, deletions and replacements between two texts. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
