// Batch exports made in the database of a running server, as its API would make them, and their runs watched. Never
// decides what is right.

import { openSecrets } from "../../src/access/secret.ts";
import type { Cadence } from "../../src/batch_exports/interval.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { until } from "./server.ts";

export interface MadeExport extends Partial<Omit<Cadence, "interval">> {
  /** The first, by default. */
  project_id?: number;
  type: string;
  config: Record<string, unknown>;
  secrets?: Record<string, unknown>;
  model?: string;
  interval?: string;
  native_query?: string;
  filters?: unknown;
  /** From where on scheduled runs are created; now, by default. */
  scheduled_until?: Date;
  paused?: boolean;
}

/** What seals secrets for a server on this DATA_DIR, or one with this SECRET_KEY. */
export interface Sealing {
  dataDir: string;
  secretKey?: string;
}

export async function makeExport(stores: Stores, sealing: Sealing, made: MadeExport): Promise<string> {
  const { sql } = stores;
  const id = crypto.randomUUID();
  const now = new Date();
  // At a full hour a run of its own would write the rows of a backfill once more.
  const tomorrow = new Date(now.getTime() + 86_400_000);
  const sealed = openSecrets(sealing).seal(made.secrets ?? {});
  await sql`
    INSERT INTO batch_exports (id, project_id, name, model, "interval", paused, native_query, filters,
      destination_type, destination_config, destination_secrets, created_at, last_updated_at, scheduled_until,
      timezone, offset_day, offset_hour)
    VALUES (${id}, ${made.project_id ?? 1}, 'tested', ${made.model ?? "events"}, ${made.interval ?? "hour"}, ${made.paused ?? false},
      ${made.native_query ?? null}, ${sql.json((made.filters ?? null) as never)}, ${made.type},
      ${sql.json(made.config as never)}, ${Buffer.from(sealed)}, ${now}, ${now},
      ${made.scheduled_until ?? tomorrow}, ${made.timezone ?? "UTC"}, ${made.offset_day ?? 0}, ${made.offset_hour ?? 0})`;
  return id;
}

/** Asks for whole intervals of `range`; a start of null is the first data. */
export async function makeBackfill(
  { sql }: Stores,
  batch_export_id: string,
  interval: string,
  range: { start: Date | null; end: Date },
): Promise<string> {
  const id = crypto.randomUUID();
  const now = new Date();
  await sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, start_at, end_at, range_start, range_end, "interval",
      created_at, last_updated_at)
    VALUES (${id}, ${batch_export_id}, ${range.start}, ${range.end}, ${range.start}, ${range.end}, ${interval},
      ${now}, ${now})`;
  return id;
}

export interface SeenRun {
  id: string;
  status: string;
  records_completed: number | null;
  records_total_count: number | null;
  latest_error: string | null;
  attempts: number;
  data_interval_start: Date | null;
  data_interval_end: Date;
  created_at: Date;
  finished_at: Date | null;
}

/** The oldest interval first. */
export async function runsOf({ sql }: Stores, batch_export_id: string): Promise<SeenRun[]> {
  return await sql<SeenRun[]>`
    SELECT id, status, records_completed, records_total_count, latest_error, attempts, data_interval_start,
      data_interval_end, created_at, finished_at
    FROM batch_export_runs WHERE batch_export_id = ${batch_export_id} ORDER BY data_interval_end, created_at`;
}

/** Waits until every run has come to its end, and there are as many. */
export async function endedRuns(stores: Stores, batch_export_id: string, count = 1): Promise<SeenRun[]> {
  const open = new Set(["Starting", "Running", "FailedRetryable"]);
  await until(async () => {
    const runs = await runsOf(stores, batch_export_id);
    return runs.length >= count && runs.every(({ status }) => !open.has(status));
  });
  return await runsOf(stores, batch_export_id);
}

/** Waits until a run says so, whichever it is. */
export async function runIn(stores: Stores, batch_export_id: string, status: string): Promise<SeenRun> {
  let found: SeenRun | undefined;
  await until(async () => {
    found = (await runsOf(stores, batch_export_id)).find((run) => run.status === status);
    return found !== undefined;
  });
  return found!;
}

/** What was said, the oldest first. */
export async function linesOf(
  { sql }: Stores,
  batch_export_id: string,
): Promise<{ level: string; message: string }[]> {
  return await sql<{ level: string; message: string }[]>`
    SELECT level, message FROM batch_export_logs WHERE batch_export_id = ${batch_export_id} ORDER BY id`;
}
