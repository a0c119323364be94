// Rows that still exist but are omitted by reads: their deletion is ordered.

import { quoteText } from "./statement.ts";

/** Conditions of rows, by table. */
export type HiddenRows = Record<string, string>;

export class HiddenRowsOfProjects {
  #hidden: ReadonlyMap<number, HiddenRows> = new Map();
  #isKnownToHide = false;

  hide(rows: ReadonlyMap<number, HiddenRows>): void {
    this.#hidden = rows;
  }

  /** Whether the engine filters reads by a subquery: tried on a small table until it has. */
  async canHide(query: (text: string, settings: Record<string, string>) => Promise<unknown[]>) {
    if (this.#isKnownToHide) return true;
    // It hides all rows.
    const filter = "'deleted_ids': '0 * project_id NOT IN (SELECT number FROM numbers(1))'";
    const settings = { additional_table_filters: `{${filter}}` };
    const rows = await query("SELECT 1 FROM deleted_ids LIMIT 1", settings).catch(() => undefined);
    return (this.#isKnownToHide = rows?.length === 0);
  }

  /** The options of a read that omits the hidden rows of the project in `params`. */
  of<Options extends { settings?: Record<string, string | number> }>(
    params?: Record<string, unknown>,
    options = {} as Options,
  ): Options {
    const rows = this.#hidden.get(Number(params?.["project_id"]));
    if (!rows) return options;
    const filters = Object.entries(rows).map(
      ([table, condition]) => `${quoteText(table)}: ${quoteText(`NOT (${condition})`)}`,
    );
    // The engine applies these filters to the tables wherever a read names them, in views and subqueries as well.
    const additional_table_filters = `{${filters.join()}}`;
    return { ...options, settings: { ...options.settings, additional_table_filters } };
  }
}
