// The SQL of annotations. A project sees its own, and those of its organization.

import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { containing, countedPage, exactMoment, userJson } from "../storage/postgres/rows.ts";
import { annotationLimits } from "./limits.ts";
import type { Annotation, AnnotationInput, AnnotationUpdate } from "./model.ts";

type AnnotationRow = Stored<Annotation, "created_at" | "updated_at"> & { project_id: number };

function columns(sql: Postgres) {
  return sql`
    a.id, a.project_id, a.content, ${exactMoment(sql, "a", "date_marker")}, a.creation_type,
    i.id AS dashboard_item, d.id AS dashboard_id, i.short_id AS insight_short_id, i.name AS insight_name,
    i.derived_name AS insight_derived_name, d.name AS dashboard_name, ${userJson(sql, "u")} AS created_by,
    a.created_at, a.updated_at, a.deleted, a.scope, a.is_emoji`;
}

/** An organization's note may be about a thing of another project, which is not shown. */
function source(sql: Postgres, project_id: number) {
  return sql`
    FROM annotations a LEFT JOIN users u ON u.id = a.created_by
    LEFT JOIN insights i ON i.id = a.insight_id AND i.project_id = ${project_id}
    LEFT JOIN dashboards d ON d.id = a.dashboard_id AND d.project_id = ${project_id}
    WHERE (a.project_id = ${project_id} OR (a.scope = 'organization' AND a.project_id IN (
      SELECT p.id FROM projects p JOIN projects own ON own.organization_id = p.organization_id
      WHERE own.id = ${project_id})))`;
}

export function toAnnotation(stored: AnnotationRow): Annotation {
  const { project_id: _project, ...row } = stored;
  return shownRow(row);
}

const orderKeys = ["id", "date_marker", "created_at", "updated_at", "scope"] as const;
export const annotationOrders = orderKeys.flatMap((name) => [name, `-${name}`] as const);

/** A page of annotations, the latest moment first by default, and how many there are. Absent fields do not filter. */
export async function listAnnotations(
  sql: Postgres,
  filter: { project_id: number } & {
    [Name in "search" | "scope" | "date_from" | "date_to" | "order"]?: string | undefined;
  } & {
    is_emoji?: boolean | undefined;
    apply_all?: boolean | undefined;
    dashboard_item?: number | undefined;
  },
  page: Page,
) {
  const { scope = null, is_emoji = null, apply_all = null, dashboard_item = null } = filter;
  const pattern = containing(filter.search);
  const [since, until] = [filter.date_from, filter.date_to].map((text) => (text ? `${text}Z` : null));
  const from = sql`
    ${source(sql, filter.project_id)} AND NOT a.deleted
      AND (${pattern}::text IS NULL OR a.content ILIKE ${pattern})
      AND (${scope}::text IS NULL OR a.scope = ${scope === "insight" ? "dashboard_item" : scope})
      AND (${is_emoji}::boolean IS NULL OR a.is_emoji = ${is_emoji})
      AND (${apply_all}::boolean IS NULL OR (a.scope <> 'dashboard_item') = ${apply_all})
      AND (${dashboard_item}::integer IS NULL OR i.id = ${dashboard_item})
      AND (${since!}::text IS NULL OR a.date_marker >= ${since!}::text::timestamptz)
      AND (${until!}::text IS NULL OR a.date_marker < ${until!}::text::timestamptz)`;
  const { order: name = "-date_marker" } = filter;
  const key = sql(`a.${name.replace("-", "")}`);
  const order = name.startsWith("-") ? sql`${key} DESC NULLS LAST, a.id DESC` : sql`${key}, a.id`;
  return await countedPage(sql, { columns: columns(sql), from, order, page, show: toAnnotation });
}

/** An annotation that the project sees, deleted or not. */
export async function findAnnotation(sql: Postgres, project_id: number, id: number) {
  const [row] = await sql<
    AnnotationRow[]
  >`SELECT ${columns(sql)} ${source(sql, project_id)} AND a.id = ${id}`;
  return row;
}

/** Creates an annotation; undefined when the project has annotationsPerProjectMax of them. */
export async function createAnnotation(
  sql: Postgres,
  input: AnnotationInput & { project_id: number; user_id: number },
) {
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO annotations (project_id, content, date_marker, creation_type, scope, insight_id, dashboard_id, is_emoji,
      deleted, created_by)
    SELECT ${input.project_id}, ${input.content}, ${input.date_marker}::text::timestamptz, ${input.creation_type},
      ${input.scope}, ${input.dashboard_item}::integer, ${input.dashboard_id}::integer, ${input.is_emoji}::boolean,
      ${input.deleted}::boolean, ${input.user_id}::integer
    WHERE (SELECT count(*) FROM annotations WHERE project_id = ${input.project_id})
      < ${annotationLimits.annotationsPerProjectMax}
    RETURNING id`;
  return row && (await findAnnotation(sql, input.project_id, row.id));
}

/**
 * Changes an annotation. One that is not the organization's any more belongs to the project of the request, so that it
 * does not vanish from it; what it was about elsewhere is left there.
 */
export async function updateAnnotation(
  sql: Postgres,
  { id, project_id }: { id: number; project_id: number },
  changes: AnnotationUpdate,
) {
  const { dashboard_item, recording_id: _, ...others } = changes;
  const own = (column: string) => sql`CASE WHEN project_id = ${project_id} THEN ${sql(column)} END`;
  const moved = { project_id, insight_id: own("insight_id"), dashboard_id: own("dashboard_id") };
  const isMoved = changes.scope !== undefined && changes.scope !== "organization";
  const item = dashboard_item !== undefined && { insight_id: dashboard_item };
  const set = { ...(isMoved && moved), ...others, ...item, updated_at: sql`now()` };
  if (Object.keys(changes).length > 0)
    await sql`UPDATE annotations SET ${sql(set as never)} WHERE id = ${id}`;
  return await findAnnotation(sql, project_id, id);
}
