// A value of the statement: its text, and what is known of it.

export type SqlType =
  "string" | "number" | "boolean" | "datetime" | "date" | "uuid" | "json" | "array" | "interval" | "unknown";

/** A step of a path: the name of a column or member, or an index in a list. */
export type PathKey = string | number;

/** The type of a property, as definitions name it. */
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
  /** What it takes, once its expression is compiled. */
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
