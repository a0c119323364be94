// Tags of several things at once.

import { limits } from "../../core/limits.ts";
import type { Postgres } from "./postgres.ts";

export type TagAction = "add" | "remove" | "set";

/** The tags that things have then, without the things that are not the project's or would have too many. */
export async function updateTags(
  sql: Postgres,
  table: "insights" | "dashboards",
  project_id: number,
  { ids, action, tags }: { ids: readonly number[]; action: TagAction; tags: readonly string[] },
) {
  const given = sql`${[...tags]}::text[]`;
  const changed = {
    add: sql`tags || ARRAY(SELECT unnest(${given}) EXCEPT SELECT unnest(tags))`,
    remove: sql`ARRAY(
      SELECT tag FROM unnest(tags) WITH ORDINALITY AS t(tag, i) WHERE NOT tag = ANY(${given}) ORDER BY i)`,
    set: given,
  }[action];
  return await sql<{ id: number; tags: string[] }[]>`
    UPDATE ${sql(table)} SET tags = ${changed}, updated_at = now()
    WHERE project_id = ${project_id} AND id = ANY(${[...ids]}::integer[]) AND NOT deleted
      AND cardinality(${changed}) <= ${limits.tagsMax}
    RETURNING id, tags`;
}
