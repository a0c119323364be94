// The log of changes made through the API. A row is written before its change and completed after it: a change may be
// in ClickHouse, outside Postgres's transaction, and no change may lack its row.

import type { Postgres } from "../storage/postgres/postgres.ts";
import { accessLimits } from "./limits.ts";

export interface BegunChange {
  /** Undefined for an organization that is being made. */
  organization_id: string | undefined;
  project_id: number | undefined;
  user_id: number;
  key_id: string;
  request_id: string;
  /** `created`, `updated`, `deleted`, or the last word of the operation's path. */
  activity: string;
  /** The kind of thing, by PostHog's name, e.g. `Insight`. */
  scope: string;
  item_id: string | undefined;
  /** Names of the fields that a PATCH sent. */
  fields: readonly string[];
  at: Date;
}

/** @returns the row's id. */
export async function beginChange(sql: Postgres, change: BegunChange): Promise<string> {
  const { organization_id = null, project_id = null, item_id = null, at: created_at, ...rest } = change;
  const row = { ...rest, fields: [...rest.fields], organization_id, project_id, item_id, created_at };
  const [insertedRow] = await sql<{ id: string }[]>`INSERT INTO activity_log ${sql(row)} RETURNING id`;
  const id = insertedRow!.id;
  if (BigInt(id) % trimEvery === 0n) await trim(sql, organization_id, created_at);
  return id;
}

/** Records that the change was made. `created_id`: the id of what it created. `organization`: the one it created. */
export async function endChange(
  sql: Postgres,
  id: string,
  status: number,
  created_id: string | undefined,
  organization: string | undefined,
): Promise<void> {
  await sql`
    UPDATE activity_log SET status = ${status}, item_id = coalesce(item_id, ${created_id ?? null}),
      organization_id = coalesce(organization_id, ${organization ?? null}::uuid)
    WHERE id = ${id}::bigint`;
}

export async function dropChange(sql: Postgres, id: string): Promise<void> {
  await sql`DELETE FROM activity_log WHERE id = ${id}::bigint`;
}

/** Rows between two trims: each reads the organization's rows up to the bound. */
const trimEvery = 500n;

async function trim(sql: Postgres, organization_id: string | null, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - accessLimits.activityAgeMsMax);
  await sql`
    DELETE FROM activity_log
    WHERE organization_id IS NOT DISTINCT FROM ${organization_id}::uuid AND (created_at < ${oldest} OR id <= (
      SELECT id FROM activity_log WHERE organization_id IS NOT DISTINCT FROM ${organization_id}::uuid
      ORDER BY id DESC LIMIT 1 OFFSET ${accessLimits.activityRowsMax}
    ))`;
}
