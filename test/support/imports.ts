// What tests of senders and of the importer do with a server: they import rows, and read events back by SQL.

import { expect } from "bun:test";
import type { RunningApp } from "./app.ts";
import { ask } from "./ask.ts";
import { makeFolder } from "./folder.ts";
import { runSluice } from "./server.ts";

export const milliseconds = "toUnixTimestamp64Milli(timestamp)";

/** @param app is started by the time they are called. */
export function openImports(app: () => RunningApp) {
  async function sql(query: string): Promise<unknown[][]> {
    for (;;) {
      const asked = { query: { kind: "HogQLQuery", query } };
      const { status, body, text } = await ask(app(), "POST", "/api/projects/1/query/", asked);
      // Busy, on a loaded machine.
      if (status === 503) continue;
      expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
      return body["results"] as unknown[][];
    }
  }
  return {
    sql,
    eventsOf: async (id: string, columns: string): Promise<unknown[][]> =>
      await sql(`SELECT ${columns} FROM events WHERE distinct_id = '${id}' ORDER BY timestamp, event`),
    /** Imports rows, or a file's text, of which nothing is rejected. */
    importRows: async (rows: readonly unknown[] | string, format = "auto", name = "rows.jsonl") => {
      const file = `${makeFolder()}/${name}`;
      const lines = typeof rows === "string" ? rows : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
      await Bun.write(file, lines);
      const ran = await runSluice(["import", file, "--host", app().url, "--format", format], {});
      expect([ran.exitCode, ran.exitCode === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    },
  };
}
