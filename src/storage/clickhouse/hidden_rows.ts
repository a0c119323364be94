// Rows that reads leave out although they are still there: their deletion is ordered.

import { quoteText } from "./statement.ts";

/** Conditions of rows, by table. */
export type HiddenRows = Record<string, string>;

export class HiddenRowsOfProjects {
  #hidden: ReadonlyMap<number, HiddenRows> = new Map();

  hide(rows: ReadonlyMap<number, HiddenRows>): void {
    this.#hidden = rows;
  }

  /** The options of a read, so that it leaves out the rows of the project that `params` names. */
  of<Options extends { settings?: Record<string, string | number> }>(
    params?: Record<string, unknown>,
    options = {} as Options,
  ): Options {
    const rows = this.#hidden.get(Number(params?.["project_id"]));
    return rows ? { ...options, settings: { ...options.settings, ...withoutRows(rows) } } : options;
  }
}

/** The engine applies these filters to the tables wherever a read names them, in views and subqueries as well. */
function withoutRows(rows: HiddenRows): Record<string, string> {
  const filters = Object.entries(rows).map(
    ([table, condition]) => `${quoteText(table)}: ${quoteText(`NOT (${condition})`)}`,
  );
  return { additional_table_filters: `{${filters.join()}}` };
}
