// A value of the statement: its text, and what is known of it.

export type SqlType =
  "string" | "number" | "boolean" | "datetime" | "date" | "uuid" | "json" | "array" | "interval" | "unknown";

/** A step of a path: the name of a column or member, or a place in a list. */
export type PathKey = string | number;

/** What definitions call the type of a property. */
export type KnownType = "String" | "Numeric" | "Boolean" | "DateTime";

/** An expression of the statement. */
export interface Sql {
  sql: string;
  type: SqlType;
  nullable: boolean;
  /** Of a property: its value as text, whatever type it is read as. */
  text?: string;
  /** Of a constant: its value. */
  constant?: string | number | bigint | boolean | null;
  /** Of a moment of an event, or what it is rounded down to: the column that the engine's index knows. */
  floor?: Floor;
}

export interface Floor {
  /** The column in UTC, as the engine stores it. */
  raw: () => string;
  /** How many days the value may lie before it, 0 when it is the column itself. */
  days: number;
  /** Lets the table know a condition that every row meets: `raw` is compared with what names no column. */
  limit?: (sign: string, bound: string) => void;
}
