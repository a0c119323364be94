// A table of the language: a source, its columns under PostHog's names, and what is joined to it.

import { wordsIn } from "../../../../core/words.ts";
import type { SqlType } from "../value.ts";

export interface TableColumn {
  sql: string;
  type: SqlType;
  nullable?: boolean;
  /** The source of the column, where the usual one does not have it. */
  source?: string;
}

/** A table that is joined when a query names something of it. */
export interface LazyJoin {
  table: string;
  /** The columns that must be equal: of this table, and of the other. */
  left: string;
  right: string;
  /** The join of the other table that has the members, where it has not. */
  by?: string;
  /** How many rows of the other table a row of this one may have. */
  rows: "one" | "many";
  /**
   * Cheaper sources with the other table's `properties` but not its further columns: all properties, or one by `key`.
   */
  propertiesSource?: string;
  propertySource?: string;
  /** The rows of the other table that are joined, as a condition on its source. */
  where?: string;
}

export interface SqlTable {
  source: string;
  /** The scope that a key needs to read it. */
  scope?: string;
  columns: Readonly<Record<string, TableColumn>>;
  /** The columns of `*`. */
  star: readonly string[];
  /** The owner of its properties. */
  owner?: "event" | "person" | "group";
  joins?: Readonly<Record<string, LazyJoin>>;
}

/**
 * A column that the engine stores with a dictionary. A function of it would be computed for the whole dictionary, with
 * other projects' rows, and could fail because of their values. The index sees the column behind this cast, too.
 */
export const withoutDictionary = (column: string): string => `CAST(${column}, 'String')`;

/** Columns of the source's own names, or `name=sql`. */
export function sqlColumns(type: SqlType, names: string): Record<string, TableColumn> {
  return Object.fromEntries(
    wordsIn(names).map((text) => {
      const [name = "", sql = name] = text.split("=");
      return [name, { sql: type === "datetime" ? `toTimeZone(${sql}, {tz:String})` : sql, type }];
    }),
  );
}
