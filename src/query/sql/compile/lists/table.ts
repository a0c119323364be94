// What a table of the language is: a source, its columns as PostHog names them, and what is joined to it.

import type { SqlType } from "../value.ts";

export interface TableColumn {
  sql: string;
  type: SqlType;
  nullable?: boolean;
  /** The source that has it, where the usual one does not. */
  source?: string;
}

/** A table that is joined where a query names something of it. */
export interface LazyJoin {
  table: string;
  /** The column of this table, and the one of the other, that are equal. */
  left: string;
  right: string;
  /** Sources that have the other's `properties` without its further columns, for less: all of them, or one by `key`. */
  propertiesSource?: string;
  propertySource?: string;
  /** What rows of the other table are joined, over its source. */
  where?: string;
}

export interface SqlTable {
  source: string;
  /** The scope of keys that it asks for. */
  scope?: string;
  columns: Readonly<Record<string, TableColumn>>;
  /** What `*` stands for. */
  star: readonly string[];
  /** Whose properties these are. */
  owner?: "event" | "person" | "group";
  joins?: Readonly<Record<string, LazyJoin>>;
}

export const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * A column that the engine stores with a dictionary. A function of it would be computed for all of the dictionary,
 * which rows of other projects share, and could fail by their values. The index knows it behind this cast, too.
 */
export const withoutDictionary = (column: string): string => `CAST(${column}, 'String')`;

/** Columns of the source's own names, or `name=sql`. */
export function sqlColumns(type: SqlType, names: string): Record<string, TableColumn> {
  return Object.fromEntries(
    words(names).map((one) => {
      const [name = "", sql = name] = one.split("=");
      return [name, { sql: type === "datetime" ? `toTimeZone(${sql}, {tz:String})` : sql, type }];
    }),
  );
}
