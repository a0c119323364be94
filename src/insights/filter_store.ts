// The filter of the list of insights as SQL, over the rows of `insights i`.

import type { Postgres, PostgresFragment } from "../storage/postgres/postgres.ts";
import { containing } from "../storage/postgres/rows.ts";
import { type InsightFilter, type InsightOrder, kindsByType } from "./filter.ts";

/** Conditions behind others, each with its AND. @param user_id whose insights `user` means. */
export function insightConditions(sql: Postgres, filter: InsightFilter, user_id: number): PostgresFragment {
  const { short_id = null, favorited = null, saved = null, user = null } = filter;
  const pattern = containing(filter.search);
  const [createdBy, tags] = [filter.created_by ?? null, filter.tags ?? null];
  return sql`
    AND (${short_id}::text IS NULL OR i.short_id = ${short_id})
    AND (${favorited}::boolean IS NULL OR i.favorited = ${favorited})
    AND (${saved}::boolean IS NULL OR i.saved = ${saved} OR ${saved} AND EXISTS (
      SELECT FROM dashboard_tiles t JOIN dashboards d ON d.id = t.dashboard_id AND NOT d.deleted
      WHERE t.insight_id = i.id))
    AND (${user}::boolean IS NULL OR (i.created_by IS NOT DISTINCT FROM ${user_id}) = ${user})
    AND (${createdBy}::integer[] IS NULL OR i.created_by = ANY(${createdBy}))
    AND (${tags}::text[] IS NULL OR i.tags && ${tags})
    AND (${pattern}::text IS NULL OR i.name ILIKE ${pattern} OR i.derived_name ILIKE ${pattern}
      OR i.description ILIKE ${pattern} OR EXISTS (SELECT FROM unnest(i.tags) AS tag WHERE tag ILIKE ${pattern}))
    ${onDashboards(sql, filter)} ${ofType(sql, filter)} ${ofTimes(sql, filter)}`;
}

function onDashboards(sql: Postgres, { dashboard, dashboards = [] }: InsightFilter): PostgresFragment {
  const all = dashboard === undefined ? dashboards : [dashboard, ...dashboards];
  return sql`
    AND NOT EXISTS (
      SELECT FROM unnest(${all}::integer[]) AS wanted WHERE NOT EXISTS (
        SELECT FROM dashboard_tiles t WHERE t.insight_id = i.id AND t.dashboard_id = wanted))`;
}

/** By the kind of the query itself, without the nodes around it. */
function ofType(sql: Postgres, { insight }: InsightFilter): PostgresFragment {
  if (insight === undefined) return sql``;
  const kind = sql`coalesce(i.query->'source'->'source'->>'kind', i.query->'source'->>'kind', i.query->>'kind', '')`;
  if (insight === "JSON") return sql`AND NOT ${kind} = ANY(${Object.values(kindsByType)}::text[])`;
  return sql`AND ${kind} = ${kindsByType[insight]}`;
}

function ofTimes(sql: Postgres, filter: InsightFilter): PostgresFragment {
  const [createdFrom, createdTo] = [utc(filter.created_date_from), utc(filter.created_date_to)];
  const [from, to] = [utc(filter.date_from), utc(filter.date_to)];
  return sql`
    AND (${createdFrom}::text IS NULL OR i.created_at > ${createdFrom}::text::timestamptz)
    AND (${createdTo}::text IS NULL OR i.created_at < ${createdTo}::text::timestamptz)
    AND (${from}::text IS NULL OR i.last_modified_at > ${from}::text::timestamptz)
    AND (${to}::text IS NULL OR i.last_modified_at < ${to}::text::timestamptz)`;
}

function utc(moment: string | undefined): string | null {
  return moment === undefined ? null : `${moment}Z`;
}

/** Insights without the field come last; of equal ones the newest first. */
export function insightOrder(sql: Postgres, order: InsightOrder = "-id"): PostgresFragment {
  const field = sql(`i.${order.replace("-", "")}`);
  return order.startsWith("-")
    ? sql`${field} DESC NULLS LAST, i.id DESC`
    : sql`${field} NULLS LAST, i.id DESC`;
}
