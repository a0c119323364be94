// The tables of links and of the results that they show.

import type { Postgres } from "../storage/postgres/postgres.ts";
import type { NotShown, SharedKind } from "./model.ts";

export interface SharedThing {
  project_id: number;
  kind: SharedKind;
  target: string;
}

/** The thing that a token opens. */
export interface SharedLink extends SharedThing {
  id: number;
  /** Properties that SQL may show, such as "properties.plan". */
  shown_properties: string[];
  /** The passwords of which it asks for one; null where it asks for none. */
  password_ids: number[] | null;
  expires_at: Date | null;
  /** Hosts whose pages may embed its page. */
  embed_hosts: string[];
}

interface StoredSharing {
  id: number;
  created_at: Date;
  enabled: boolean;
  token_sealed: Uint8Array | null;
  token_plain: string | null;
  shown_properties: string[];
  password_required: boolean;
  expires_at: Date | null;
}

export interface SharingChange {
  enabled?: boolean | undefined;
  /** Whether the token is replaced. */
  renew?: boolean;
  shown_properties?: string[] | undefined;
  password_required?: boolean | undefined;
  expires_at?: string | null | undefined;
}

/** The beginning of token_hash of links that older servers must not open, as guard_link() in Postgres writes it. */
const guarded = "guarded ";

/**
 * The sharing of a thing. The first call stores the fresh token, which is disabled until `enabled` is true. Disabling
 * replaces the token, so that the old one never works again. Results with other properties are forgotten.
 */
export async function upsertSharing(
  sql: Postgres,
  { project_id, kind, target }: SharedThing,
  fresh: { token_hash: string; token_sealed: Uint8Array; now: Date },
  { enabled, renew = false, shown_properties, password_required, expires_at }: SharingChange,
): Promise<StoredSharing> {
  await sql`
    INSERT INTO sharing_configurations (project_id, kind, target, token_hash, token_sealed, created_at)
    VALUES (${project_id}, ${kind}, ${target}, ${fresh.token_hash}, ${fresh.token_sealed}, ${fresh.now})
    ON CONFLICT (project_id, kind, target) DO NOTHING`;
  const end = expires_at === undefined ? sql`s.expires_at` : sql`${expires_at}::timestamptz`;
  const renews = sql`(${renew} OR (s.enabled AND ${enabled === false}))`;
  const [row] = await sql<StoredSharing[]>`
    UPDATE sharing_configurations s SET
      token_hash = CASE WHEN ${renews} THEN ${fresh.token_hash} ELSE s.token_hash END,
      token_sealed = CASE WHEN ${renews} THEN ${fresh.token_sealed} ELSE s.token_sealed END,
      token_plain = CASE WHEN ${renews} THEN NULL ELSE s.token_plain END,
      enabled = coalesce(${enabled ?? null}::boolean, s.enabled),
      password_required = coalesce(${password_required ?? null}::boolean, s.password_required),
      expires_at = ${end},
      shown_properties = coalesce(${shown_properties ?? null}::text[], s.shown_properties)
    WHERE project_id = ${project_id} AND kind = ${kind} AND target = ${target}
    RETURNING id, created_at, enabled, token_sealed, token_plain, shown_properties, password_required, expires_at`;
  if (!row) throw new Error("Postgres stored a sharing and returned none");
  if (shown_properties) await sql`DELETE FROM shared_results WHERE sharing_id = ${row.id}`;
  return row;
}

/** Replaces a token stored in plain text by its sealed form. */
export async function storeSealed(sql: Postgres, id: number, plain: string, sealed: Uint8Array) {
  await sql`
    UPDATE sharing_configurations SET token_sealed = ${sealed}, token_plain = NULL
    WHERE id = ${id} AND token_plain = ${plain}`;
}

/** The enabled links among these that have not ended, by their tokens' hashes. */
export async function findLinks(
  sql: Postgres,
  hashes: readonly string[],
  now: Date,
): Promise<Map<string, SharedLink>> {
  const known = hashes.flatMap((hash) => [hash, guarded + hash]);
  const rows = await sql<(SharedLink & { token_hash: string })[]>`
    SELECT s.id, project_id, kind, target, token_hash, shown_properties, expires_at,
      CASE WHEN password_required
        THEN ARRAY(SELECT w.id FROM share_passwords w WHERE w.sharing_id = s.id) END AS password_ids,
      ARRAY(SELECT jsonb_array_elements_text(p.settings->'sharing_embed_hosts')) AS embed_hosts
    FROM sharing_configurations s JOIN projects p ON p.id = s.project_id
    WHERE token_hash = ANY(${known}::text[]) AND enabled AND (expires_at IS NULL OR expires_at > ${now})`;
  return new Map(rows.map(({ token_hash, ...link }) => [token_hash.replace(guarded, ""), link]));
}

/**
 * Whether this version stored results `r`, after the project's last deletion: earlier ones may show what is deleted,
 * and those of older servers on the same stores, which know no marked_at, what is for members only.
 */
const areValid = (sql: Postgres) => sql`
  (r.marked_at IS NOT DISTINCT FROM r.computed_at AND r.computed_at > (
    SELECT coalesce(
      greatest(
        (SELECT to_timestamp(max(ordered_at) / 1e6) FROM person_deletion_orders WHERE project_id = s.project_id),
        (SELECT max(deleted_at) FROM session_recording_deletions WHERE project_id = s.project_id)
      ), '-infinity')
    FROM sharing_configurations s WHERE s.id = r.sharing_id))`;

/** When a link's results were computed; undefined when they never were, or are not valid. */
export async function getComputedAt(sql: Postgres, id: number): Promise<Date | undefined> {
  const [row] = await sql<{ computed_at: Date }[]>`
    SELECT computed_at FROM shared_results r WHERE sharing_id = ${id} AND ${areValid(sql)}`;
  return row?.computed_at;
}

/** The insights that a link's last results leave out. */
export async function listNotShown(sql: Postgres, id: number): Promise<NotShown[]> {
  const [row] = await sql<{ not_shown: NotShown[] }[]>`
    SELECT not_shown FROM shared_results WHERE sharing_id = ${id}`;
  return row?.not_shown ?? [];
}

/** A link's results as JSON, and when they were computed. */
export async function getResult(sql: Postgres, id: number) {
  const [row] = await sql<{ result: string; computed_at: Date }[]>`
    SELECT result, computed_at FROM shared_results r WHERE sharing_id = ${id} AND ${areValid(sql)}`;
  return row;
}

/** Whether this process must compute the results: they are older than `since`, and no other process computes them. */
export async function claimResult(
  sql: Postgres,
  id: number,
  { now, since, until }: { now: Date; since: Date; until: Date },
): Promise<boolean> {
  const rows = await sql`
    INSERT INTO shared_results AS r (sharing_id, claimed_until) VALUES (${id}, ${until})
    ON CONFLICT (sharing_id) DO UPDATE SET claimed_until = ${until}
    WHERE (r.computed_at IS NULL OR r.computed_at <= ${since} OR NOT ${areValid(sql)})
      AND (r.claimed_until IS NULL OR r.claimed_until <= ${now})
    RETURNING sharing_id`;
  return rows.length > 0;
}

/** Stores results, unless other properties were confirmed meanwhile. */
export async function storeResult(
  sql: Postgres,
  { id, shown_properties }: SharedLink,
  { result, not_shown, computed_at }: { result: string; not_shown: NotShown[]; computed_at: Date },
) {
  await sql`
    UPDATE shared_results SET result = ${result}, not_shown = ${sql.json(not_shown as never)},
      computed_at = ${computed_at}, marked_at = ${computed_at}, claimed_until = NULL
    WHERE sharing_id = ${id} AND EXISTS (
      SELECT FROM sharing_configurations WHERE id = ${id} AND shown_properties = ${shown_properties}::text[])`;
}
