// Insights in Postgres, and which dashboards show them.

import { Fault, refuseInput } from "../core/fault.ts";
import { newShortId } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import { cleanTags } from "../core/words.ts";
import { missingReference } from "../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import { checkFits, type Page } from "../http/pages/page.ts";
import type { SharedContent } from "../sharing/results.ts";
import type { Postgres, PostgresFragment, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { containing, type Counted, countedPage, userJson } from "../storage/postgres/rows.ts";
import { type InsightFilter, kindsByType } from "./filter.ts";
import { insightLimits } from "./limits.ts";
import type { Insight, InsightInput, InsightUpdate } from "./model.ts";

/** The fields of a reply that come from the query. */
export type ShownResult = Pick<Insight, keyof typeof notRun>;

export type InsightRow = Stored<
  Omit<Insight, keyof ShownResult | keyof typeof fixedValues | "dashboards" | "dashboard_tiles">,
  "created_at" | "updated_at" | "last_modified_at" | "last_viewed_at"
> & { project_id: number; tiles: { id: number; dashboard_id: number }[] };

export const notRun = {
  result: null,
  result_type: null,
  columns: null,
  types: null,
  hasMore: null,
  last_refresh: null,
  timezone: null,
  resolved_date_range: null,
  is_cached: false,
  query_status: null,
} satisfies Partial<Insight>;

/** PostHog's fields whose value is always the same here. */
const fixedValues = {
  filters: {},
  refreshing: false,
  alerts: [],
  cache_target_age: null,
  next_allowed_client_refresh: null,
  hogql: null,
  is_sample: false,
  effective_restriction_level: 21,
  effective_privilege_level: 37,
  user_access_level: "editor",
} satisfies Partial<Insight>;

/** @param result the query's, if it was run. */
export function presentInsight(insight: InsightRow, result: ShownResult = notRun): Insight {
  const { project_id: _, tiles, ...row } = insight;
  return {
    ...shownRow(row),
    ...fixedValues,
    dashboards: tiles.map(({ dashboard_id }) => dashboard_id),
    dashboard_tiles: tiles.map((tile) => ({ ...tile, deleted: false })),
    ...result,
  };
}

function columns(sql: Postgres) {
  return sql`
    i.id, i.project_id, i.short_id, i.name, i.derived_name, i.description, i.query, i.tags, i.favorited, i.saved,
    i."order", i.deleted, i.created_at, i.updated_at, i.last_modified_at,
    ${userJson(sql, "u")} AS created_by, ${userJson(sql, "m")} AS last_modified_by,
    (SELECT max(viewed_at) FROM insight_views v WHERE v.insight_id = i.id) AS last_viewed_at,
    coalesce((
      SELECT json_agg(json_build_object('id', t.id, 'dashboard_id', t.dashboard_id) ORDER BY t.id)
      FROM dashboard_tiles t JOIN dashboards d ON d.id = t.dashboard_id AND NOT d.deleted
      WHERE t.insight_id = i.id), '[]') AS tiles`;
}

function source(sql: Postgres) {
  return sql`
    FROM insights i
    LEFT JOIN users u ON u.id = i.created_by
    LEFT JOIN users m ON m.id = i.last_modified_by`;
}

/**
 * A page of a project's insights, newest first by default, and how many match.
 * @param user_id the owner that `user` filters by.
 * @throws Fault with attr `limit` when they exceed httpLimits.pageBytesMax.
 */
export async function listInsights(
  sql: Postgres,
  { project_id, user_id }: { project_id: number; user_id: number },
  filter: InsightFilter,
  page: Page,
): Promise<Counted<Insight>> {
  const from = sql`
    ${source(sql)}
    WHERE i.project_id = ${project_id} AND NOT i.deleted ${insightConditions(sql, filter, user_id)}`;
  return await countedPage(sql, {
    columns: columns(sql),
    from,
    order: insightOrder(sql, filter, user_id),
    page,
    show: (row: InsightRow) => presentInsight(row),
    check: checkFits,
  });
}

/** Notes that the user viewed these insights of the project. */
export async function recordViews(
  sql: Postgres,
  { project_id, user_id }: InsightMaker,
  ids: readonly number[],
) {
  await sql`
    INSERT INTO insight_views (insight_id, user_id)
    SELECT id, ${user_id} FROM insights WHERE project_id = ${project_id} AND id = ANY(${[...ids]}::integer[])
    ON CONFLICT (user_id, insight_id) DO UPDATE SET viewed_at = now()`;
}

/** An insight of the project by its id or short id; a deleted one only with `deletedToo`. */
export async function getInsight(sql: Postgres, project_id: number, id: number | string, deletedToo = false) {
  const [row] = await sql<InsightRow[]>`
    SELECT ${columns(sql)} ${source(sql)}
    WHERE i.project_id = ${project_id} AND ${typeof id === "number" ? sql`i.id` : sql`i.short_id`} = ${id}
    AND (${deletedToo} OR NOT i.deleted)`;
  return row;
}

/** Marks an insight as deleted; false when it was already. Its tiles remain, and show again when it is restored. */
export async function removeInsight(sql: Postgres, id: number, { project_id, user_id }: InsightMaker) {
  const rows = await sql`
    UPDATE insights SET deleted = true, updated_at = now(), last_modified_at = now(), last_modified_by = ${user_id}
    WHERE id = ${id} AND project_id = ${project_id} AND NOT deleted RETURNING id`;
  return rows.length > 0;
}

/** The insights with these ids, in their order. */
export async function getInsights(sql: Postgres, project_id: number, ids: readonly number[]) {
  return await sql<InsightRow[]>`
    SELECT ${columns(sql)} ${source(sql)}
    WHERE i.project_id = ${project_id} AND i.id = ANY(${[...ids]}::integer[]) AND NOT i.deleted
    ORDER BY array_position(${[...ids]}::integer[], i.id)`;
}

/** The insights of these tiles, in their order. */
export async function getShownInsights(sql: Postgres, project_id: number, { tiles }: SharedContent) {
  const ids = tiles.flatMap(({ insight_id }) => insight_id ?? []);
  return await getInsights(sql, project_id, ids);
}

interface InsightMaker {
  project_id: number;
  user_id: number;
}

/**
 * Resolves to the new insight's id.
 * @throws Fault does_not_exist for a dashboard that the project does not have; invalid_input when the project has
 * limits.insightsPerProjectMax insights.
 */
export function createInsight(sql: Postgres, input: InsightInput, maker: InsightMaker, shortId = newShortId) {
  return sql.begin(async (tx) => {
    const id = await insertInsight(tx, input, maker, shortId);
    await putOnDashboards(tx, maker.project_id, id, input.dashboards);
    return id;
  });
}

/** Tries another short id while one is in use. */
async function insertInsight(
  sql: PostgresTransaction,
  { name, derived_name, query, description, tags, favorited, saved, order, deleted }: InsightInput,
  { project_id, user_id }: InsightMaker,
  shortId: () => string,
): Promise<number> {
  for (let tries = 0; tries < insightLimits.shortIdTriesMax; tries++) {
    const short_id = shortId();
    const [created] = await sql<{ id: number }[]>`
      INSERT INTO insights (project_id, short_id, name, derived_name, query, description, tags, favorited, saved,
        "order", deleted, created_by, last_modified_by)
      SELECT ${project_id}, ${short_id}, ${name}, ${derived_name}, ${sql.json(query as never)}, ${description},
        ${cleanTags(tags)}, ${favorited}, ${saved}, ${order}, ${deleted}, ${user_id}, ${user_id}
      WHERE (SELECT count(*) FROM insights WHERE project_id = ${project_id} AND NOT deleted)
        < ${limits.insightsPerProjectMax}
      ON CONFLICT (project_id, short_id) DO NOTHING RETURNING id`;
    if (created) return created.id;
    const inUse = await sql`SELECT FROM insights WHERE project_id = ${project_id} AND short_id = ${short_id}`;
    if (inUse.length > 0) continue;
    const detail = `A project can have at most ${limits.insightsPerProjectMax} insights.`;
    throw new Fault("invalid_input", detail);
  }
  throw new Error("every short id that was tried is in use");
}

/**
 * Changes fields, of a deleted insight too. Who changes its name, description or query modifies it, as at PostHog.
 * @throws Fault as createInsight.
 */
export async function updateInsight(sql: Postgres, id: number, changes: InsightUpdate, maker: InsightMaker) {
  const { dashboards, query, filters: _, ...plain } = changes;
  await sql.begin(async (tx) => {
    const isModified = query !== undefined || ["name", "description"].some((name) => name in plain);
    const set = {
      ...plain,
      ...(plain.tags && { tags: cleanTags(plain.tags) }),
      ...(query !== undefined && { query: tx.json(query as never) }),
      ...(isModified && { last_modified_by: maker.user_id, last_modified_at: tx`now()` }),
      updated_at: tx`now()`,
    };
    await tx`
      UPDATE insights SET ${tx(set as never)}
      WHERE id = ${id} AND project_id = ${maker.project_id}`;
    if (dashboards) await putOnDashboards(tx, maker.project_id, id, dashboards);
  });
}

/** Makes exactly these dashboards show the insight; tiles that remain keep their ids. */
async function putOnDashboards(
  sql: PostgresTransaction,
  project_id: number,
  insight_id: number,
  dashboards: readonly number[],
): Promise<void> {
  const dashboardIds = [...new Set(dashboards)];
  const existing = await sql<{ id: number }[]>`
    SELECT id FROM dashboards
    WHERE project_id = ${project_id} AND id = ANY(${dashboardIds}::integer[]) AND NOT deleted FOR UPDATE`;
  const missing = dashboardIds.find((id) => !existing.some((item) => item.id === id));
  if (missing !== undefined) throw missingReference("dashboards", missing);
  await sql`
    DELETE FROM dashboard_tiles t USING dashboards d
    WHERE t.insight_id = ${insight_id} AND d.id = t.dashboard_id AND NOT d.deleted
      AND NOT d.id = ANY(${dashboardIds}::integer[])`;
  await sql`
    INSERT INTO dashboard_tiles (dashboard_id, insight_id)
    SELECT id, ${insight_id} FROM unnest(${dashboardIds}::integer[]) AS id
    ON CONFLICT (dashboard_id, insight_id) DO NOTHING`;
  const [full] = await sql<{ id: number }[]>`
    SELECT t.dashboard_id AS id FROM dashboard_tiles t JOIN insights i ON i.id = t.insight_id AND NOT i.deleted
    WHERE t.dashboard_id = ANY(${dashboardIds}::integer[])
    GROUP BY t.dashboard_id HAVING count(*) > ${limits.insightsPerDashboardMax} LIMIT 1`;
  if (full)
    refuseInput(`A dashboard can show at most ${limits.insightsPerDashboardMax} insights.`, "dashboards");
}

/** A dashboard's insights and texts in its order; undefined when there is no such dashboard. */
export async function getDashboardContent(sql: Postgres, project_id: number, id: number) {
  const [row] = await sql<SharedContent[]>`
    SELECT coalesce(nullif(d.name, ''), 'Dashboard ' || d.id) AS name, coalesce(d.description, '') AS description,
      coalesce((
        SELECT json_agg(
          json_build_object('insight_id', t.insight_id, 'text', t.text_body, 'layouts', t.layouts) ORDER BY t.id)
        FROM dashboard_tiles t LEFT JOIN insights i ON i.id = t.insight_id
        WHERE t.dashboard_id = d.id AND (t.text_body IS NOT NULL OR NOT i.deleted)), '[]') AS tiles
    FROM dashboards d WHERE d.project_id = ${project_id} AND d.id = ${id} AND NOT d.deleted`;
  return row;
}

/** Conditions to append to others. @param user_id the owner that `user` filters by. */
function insightConditions(sql: Postgres, filter: InsightFilter, user_id: number): PostgresFragment {
  const { short_id, created_by, user, saved, favorited, insight, tags } = filter;
  const { created_date_from, created_date_to, date_from, date_to } = filter;
  const pattern = containing(filter.search);
  const dashboards = [filter.dashboard ?? [], filter.dashboards ?? []].flat();
  const conditions = [
    short_id !== undefined && sql`i.short_id = ${short_id}`,
    favorited !== undefined && sql`i.favorited = ${favorited}`,
    saved !== undefined &&
      sql`(i.saved = ${saved} OR ${saved} AND EXISTS (
        SELECT FROM dashboard_tiles t JOIN dashboards d ON d.id = t.dashboard_id AND NOT d.deleted
        WHERE t.insight_id = i.id))`,
    filter.isViewed &&
      sql`EXISTS (SELECT FROM insight_views v WHERE v.insight_id = i.id AND v.user_id = ${user_id})`,
    user !== undefined && sql`(i.created_by IS NOT DISTINCT FROM ${user_id}) = ${user}`,
    created_by && sql`i.created_by = ANY(${created_by}::integer[])`,
    tags && sql`i.tags && ${[...tags, ...cleanTags(tags)]}::text[]`,
    pattern !== null &&
      sql`(i.name ILIKE ${pattern} OR i.derived_name ILIKE ${pattern} OR i.description ILIKE ${pattern}
        OR EXISTS (SELECT FROM unnest(i.tags) AS tag WHERE tag ILIKE ${pattern}))`,
    dashboards.length > 0 &&
      sql`NOT EXISTS (
        SELECT FROM unnest(${dashboards}::integer[]) AS needed WHERE NOT EXISTS (
          SELECT FROM dashboard_tiles t WHERE t.insight_id = i.id AND t.dashboard_id = needed))`,
    insight && isOfType(sql, insight),
    created_date_from && sql`i.created_at > ${`${created_date_from}Z`}::text::timestamptz`,
    created_date_to && sql`i.created_at < ${`${created_date_to}Z`}::text::timestamptz`,
    date_from && sql`i.last_modified_at > ${`${date_from}Z`}::text::timestamptz`,
    date_to && sql`i.last_modified_at < ${`${date_to}Z`}::text::timestamptz`,
  ];
  return conditions.reduce<PostgresFragment>(
    (all, condition) => (condition ? sql`${all} AND ${condition}` : all),
    sql``,
  );
}

/** Selects by the kind of the query itself, without the nodes around it. */
function isOfType(sql: Postgres, type: NonNullable<InsightFilter["insight"]>): PostgresFragment {
  const kind = sql`coalesce(i.query->'source'->'source'->>'kind', i.query->'source'->>'kind', i.query->>'kind', '')`;
  if (type === "JSON") return sql`NOT ${kind} = ANY(${Object.values(kindsByType)}::text[])`;
  return sql`${kind} = ${kindsByType[type]}`;
}

/**
 * Insights without the field come last; of equal ones the newest first. Of those that a search finds, the one of that
 * name comes first, then those with the text in their name.
 */
function insightOrder(sql: Postgres, { order, search }: InsightFilter, user_id: number): PostgresFragment {
  const name = sql`coalesce(nullif(i.name, ''), i.derived_name)`;
  if (order === undefined && search !== undefined)
    return sql`(lower(${name}) = lower(${search})) IS TRUE DESC, (${name} ILIKE ${containing(search)}) IS TRUE DESC,
      i.id DESC`;
  if (order === undefined) return sql`i.id DESC`;
  const column = order.replace("-", "");
  const fields: Record<string, PostgresFragment> = {
    // As PostHog's database sorts texts: capitals beside small letters.
    name: sql`lower(i.name)`,
    last_viewed_at: sql`last_viewed_at`,
    my_last_viewed_at: sql`(
      SELECT viewed_at FROM insight_views v WHERE v.insight_id = i.id AND v.user_id = ${user_id})`,
  };
  const field = fields[column] ?? sql(`i.${column}`);
  return order.startsWith("-")
    ? sql`${field} DESC NULLS LAST, i.id DESC`
    : sql`${field} NULLS LAST, i.id DESC`;
}
