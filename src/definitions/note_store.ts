// Notes of people about definitions, in Postgres: descriptions, tags, verified, hidden.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { cleanTags } from "../core/words.ts";
import { missingReference } from "../http/fields/field_fault.ts";
import { shownRow } from "../http/fields/field_time.ts";
import type { User } from "../http/fields/user.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { userJson } from "../storage/postgres/rows.ts";
import type { TagAction } from "../storage/postgres/tags.ts";
import { definitionQueryLimits } from "./limits.ts";

interface NoteRow {
  id: string;
  owner: User | null;
  primary_property: string | null;
  description: string | null;
  tags: string[];
  verified: boolean;
  hidden: boolean;
  updated_at: Date;
  updated_by: User | null;
  verified_at: Date | null;
  verified_by: User | null;
}

export type Note =
  Awaited<ReturnType<typeof readNotes>> extends ReadonlyMap<string, infer Value> ? Value : never;

/** The notes of these definitions, by id. */
export async function readNotes(sql: Postgres, project_id: number, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, ReturnType<typeof shownRow<NoteRow>>>();
  const rows = await sql<NoteRow[]>`
    SELECT n.id, n.description, n.tags, n.verified, n.hidden, n.updated_at, n.verified_at, n.primary_property,
      ${userJson(sql, "u")} AS updated_by, ${userJson(sql, "v")} AS verified_by, ${userJson(sql, "o")} AS owner
    FROM definition_notes n LEFT JOIN users u ON u.id = n.updated_by LEFT JOIN users v ON v.id = n.verified_by
      LEFT JOIN users o ON o.id = n.owner
    WHERE n.project_id = ${project_id} AND n.id = ANY(${[...ids]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, shownRow(row)]));
}

interface NoteFilter {
  verified?: boolean | undefined;
  hidden?: boolean | undefined;
  tags?: readonly string[];
}

/** The ids of the definitions that are verified, hidden, or have one of the tags; undefined when nothing is asked. */
export async function findNoted(
  sql: Postgres,
  project_id: number,
  { verified, hidden, tags = [] }: NoteFilter,
) {
  if (!verified && !hidden && tags.length === 0) return undefined;
  const rows = await sql<{ id: string }[]>`
    SELECT id FROM definition_notes WHERE project_id = ${project_id}
      ${verified ? sql`AND verified` : sql``} ${hidden ? sql`AND hidden` : sql``}
      ${tags.length > 0 ? sql`AND tags && ${cleanTags(tags)}::text[]` : sql``}`;
  return rows.map(({ id }) => id);
}

/**
 * Changes the tags of definitions, but of those that would have too many, or are past notesPerProjectMax. Resolves to
 * the changed ones; nothing is written of those that have these tags.
 */
export async function changeNoteTags(
  sql: Postgres,
  { project_id, user_id }: Pick<Noted, "project_id" | "user_id">,
  ids: readonly string[],
  { action, tags }: { action: TagAction; tags: readonly string[] },
) {
  const named = cleanTags(tags);
  const known = sql`project_id = ${project_id} AND id = ANY(${[...ids]}::uuid[])`;
  return await sql.begin(async (tx) => {
    if (action !== "remove" && named.length > 0)
      await tx`
        INSERT INTO definition_notes (project_id, id)
        SELECT ${project_id}, asked.id FROM unnest(${[...ids]}::uuid[]) AS asked (id)
        WHERE asked.id NOT IN (SELECT id FROM definition_notes WHERE ${known})
        ORDER BY asked.id
        LIMIT greatest(0, ${definitionQueryLimits.notesPerProjectMax} - (
          SELECT count(*) FROM definition_notes WHERE project_id = ${project_id}))
        ON CONFLICT DO NOTHING`;
    const rows = await tx<{ id: string; tags: string[] }[]>`
      SELECT id, tags FROM definition_notes WHERE ${known} ORDER BY id FOR UPDATE`;
    const before = new Map(rows.map((row) => [row.id, row.tags]));
    const changed: { id: string; tags: string[] }[] = [];
    for (const id of ids) {
      const old = before.get(id) ?? [];
      const others = old.filter((tag) => !named.includes(tag));
      const after = { add: [...new Set([...old, ...named])], remove: others, set: named }[action];
      const isEqual = after.join("\n") === old.join("\n");
      if (after.length > limits.tagsMax || !(isEqual || before.has(id))) continue;
      changed.push({ id, tags: after });
      if (isEqual) continue;
      await tx`
        UPDATE definition_notes SET tags = ${after}, updated_at = now(), updated_by = ${user_id}
        WHERE project_id = ${project_id} AND id = ${id}`;
    }
    return changed;
  });
}

interface Noted {
  project_id: number;
  id: string;
  user_id: number;
  noun: string;
}

export interface NoteChanges {
  owner?: number | null;
  primary_property?: string | null;
  description?: string | null;
  tags?: string[];
  verified?: boolean;
  hidden?: boolean;
}

/**
 * Changes what is said about a definition. Who verifies it, and when, stays while it is verified.
 * @throws Fault invalid_input for what is hidden and verified, and past notesPerProjectMax.
 */
export async function writeNote(
  sql: Postgres,
  { project_id, id, user_id, noun }: Noted,
  { tags, ...plain }: NoteChanges,
): Promise<void> {
  await sql.begin(async (tx) => {
    if (plain.owner) await requireMember(tx, project_id, plain.owner);
    await tx`
      INSERT INTO definition_notes (project_id, id)
      SELECT ${project_id}, ${id} WHERE (
        SELECT count(*) FROM definition_notes WHERE project_id = ${project_id}
      ) < ${definitionQueryLimits.notesPerProjectMax}
      ON CONFLICT DO NOTHING`;
    const set = {
      ...plain,
      ...(tags && { tags: cleanTags(tags) }),
      updated_at: tx`now()`,
      updated_by: user_id,
    };
    const [row] = await tx<{ verified: boolean; hidden: boolean }[]>`
      UPDATE definition_notes SET ${tx(set as never)} WHERE project_id = ${project_id} AND id = ${id}
      RETURNING verified, hidden`;
    if (!row) throw new Fault("invalid_input", tooMany);
    if (row.verified && row.hidden)
      throw new Fault("invalid_input", `${noun} cannot be both hidden and verified`, { attr: "hidden" });
    await tx`
      UPDATE definition_notes SET verified_at = CASE WHEN verified THEN coalesce(verified_at, now()) END,
        verified_by = CASE WHEN NOT verified THEN NULL WHEN verified_at IS NULL THEN ${user_id} ELSE verified_by END
      WHERE project_id = ${project_id} AND id = ${id}`;
  });
}

/** @throws Fault does_not_exist for no user of the project's organization. */
async function requireMember(tx: PostgresTransaction, project_id: number, user_id: number): Promise<void> {
  const found = await tx`
    SELECT FROM organization_memberships m JOIN projects p ON p.organization_id = m.organization_id
    WHERE p.id = ${project_id} AND m.user_id = ${user_id}`;
  if (found.length === 0) throw missingReference("owner", user_id);
}

const tooMany = `A project can describe at most ${definitionQueryLimits.notesPerProjectMax} events and properties.`;
