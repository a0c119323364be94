// A running application with a batch export or two, and runs that nobody ran. Never checks what comes back.

import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { type RunningApp, startApp } from "./app.ts";
import { type Answer, ask } from "./ask.ts";
import { storesOf } from "./server.ts";

export interface ExportDesk {
  app: RunningApp;
  sql: Postgres;
  organization_id: string;
  project_id: number;
  /** Where the project's exports are. */
  home: string;
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer>;
  /** A new export, by default of nothing to nowhere. */
  make(body?: Record<string, unknown>): Promise<Record<string, unknown>>;
}

export async function openExportDesk(environment: Record<string, string> = {}): Promise<ExportDesk> {
  const app = await startApp(environment);
  const stores = await storesOf(app);
  const made = app.bootstrapped;
  if (!made) throw new Error("the first start made nothing");
  const home = `/api/projects/${made.project_id}/batch_exports/`;
  return {
    app,
    sql: stores.sql,
    organization_id: made.organization_id,
    project_id: made.project_id,
    home,
    ask: (method, path, body, key) => ask(app, method, path, body, key),
    make: async (body = {}) => {
      const reply = await ask(app, "POST", home, { ...exportWish, ...body });
      if (reply.status !== 201) throw new Error(reply.text);
      return reply.body;
    },
  };
}

/** The least a request must say; a week, so that nothing runs by itself meanwhile. */
export const exportWish = { name: "Made", interval: "week", destination: { type: "NoOp", config: {} } };

export interface RunWish {
  status?: string;
  start?: string | null;
  end?: string;
  created_at?: string;
  backfill_id?: string | null;
}

let hours = 0;

/** A run as the scheduler would have made it; due in the far future, so that nobody takes it. */
export async function addRun(sql: Postgres, batch_export_id: unknown, input: RunWish = {}): Promise<string> {
  const id = crypto.randomUUID();
  const end = new Date(Date.UTC(2024, 0, 1, ++hours));
  const begin = new Date(end.getTime() - 3_600_000).toISOString();
  const { status = "Completed", start = begin, backfill_id = null } = input;
  const created_at = input.created_at ?? new Date().toISOString();
  const finished = ["Starting", "Running", "FailedRetryable"].includes(status) ? null : created_at;
  await sql`
    INSERT INTO batch_export_runs (
      id, batch_export_id, backfill_id, data_interval_start, data_interval_end, status, records_completed,
      records_total_count, next_attempt_at, lease_owner, lease_until, created_at, finished_at, last_updated_at)
    VALUES (
      ${id}, ${String(batch_export_id)}, ${backfill_id}, ${start}, ${input.end ?? end}, ${status}, 5, 6,
      '2099-01-01', 'a test', '2099-01-01', ${created_at}, ${finished}, ${created_at})`;
  return id;
}
