// Rows that still exist but are omitted by reads: their deletion is ordered, or they have expired.

import { quoteText } from "./statement.ts";

/** Conditions of rows, by table. */
export type HiddenRows = Record<string, string>;

/** Finds the hidden rows of a project. */
export type FindHidden = (project_id: number) => HiddenRows | undefined;

export class HiddenRowsOfProjects {
  readonly #hidden = new Map<string, FindHidden>();
  #isKnownToHide = false;

  /** Replaces what was hidden for the same reason; undefined: nothing. */
  hide(reason: "deleted" | "expired", find: FindHidden | undefined): void {
    if (find) this.#hidden.set(reason, find);
    else this.#hidden.delete(reason);
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
    const { project_id } = params ?? {};
    if (this.#hidden.size === 0 || project_id === undefined) return options;
    const found = [...this.#hidden.values()].flatMap((find) =>
      Object.entries(find(Number(project_id)) ?? {}),
    );
    if (found.length === 0) return options;
    const filters = [...Map.groupBy(found, ([table]) => table)].map(([table, rows]) => {
      const conditions = rows.map(([, condition]) => `NOT (${condition})`);
      return `${quoteText(table)}: ${quoteText(conditions.join(" AND "))}`;
    });
    // The engine applies these filters to the tables wherever a read names them, in views and subqueries as well.
    const additional_table_filters = `{${filters.join()}}`;
    return { ...options, settings: { ...options.settings, additional_table_filters } };
  }
}
