// The words of the language, for editors: tables with their columns, and functions.

import { aggregateNames } from "./compile/lists/aggregates.ts";
import { functionShapes } from "./compile/lists/function_shapes.ts";
import { sqlFunctions } from "./compile/lists/functions.ts";
import { sqlTables } from "./compile/lists/tables.ts";

export interface SqlWords {
  tables: Record<
    string,
    {
      columns: string[];
      /** Joined tables, by their names after a dot. */
      joins: Record<string, string>;
      /** The owner of its properties. */
      owner?: "event" | "person" | "group";
    }
  >;
  functions: string[];
}

export function sqlWords(): SqlWords {
  const tables = Object.entries(sqlTables).map(([name, { columns, joins = {}, owner }]) => [
    name,
    {
      columns: Object.keys(columns),
      joins: Object.fromEntries(Object.entries(joins).map(([known, { table }]) => [known, table])),
      ...(owner && { owner }),
    },
  ]);
  const functions = [...[...sqlFunctions.values()].map(({ name }) => name), ...aggregateNames()];
  const listed = new Set(functions.map((name) => name.toLowerCase()));
  const shaped = Object.keys(functionShapes).filter((name) => !listed.has(name));
  return {
    tables: Object.fromEntries(tables) as SqlWords["tables"],
    functions: [...new Set([...functions, ...shaped])].toSorted(),
  };
}
