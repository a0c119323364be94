// Insights and dashboards behind a link: the numbers of pictures, without events and persons.

import { Fault } from "../core/fault.ts";
import { fieldFault, parseInsightName, present } from "../http/fields/field_fault.ts";
import type { QueryEngine } from "../query/engine.ts";
import { findUnshown } from "../query/sql/shown_columns.ts";
import { sharingLimits } from "../sharing/limits.ts";
import type { NotShown } from "../sharing/model.ts";
import type { Shareable } from "../sharing/operations.ts";
import type { BoardReader, SharedContent, SharedInsight } from "../sharing/results.ts";
import type { SharedLink } from "../sharing/store.ts";
import { mapInSlices } from "../work/slices.ts";
import { type InsightParts, runWithTotals } from "./show.ts";
import { listProperties } from "./shown_properties.ts";
import { getDashboardContent, getInsight, getShownInsights, type InsightRow } from "./store.ts";

export function shareableInsights({ sql, queries }: InsightParts): Shareable<"insights"> {
  return {
    kind: "insight",
    things: "insights",
    noun: "an insight",
    scopes: ["insight:read"],
    find: async (project_id, id) =>
      String(present(await getInsight(sql, project_id, parseInsightName(id))).id),
    checkShared: async (project_id, target, confirmed) => {
      const { query } = present(await getInsight(sql, project_id, Number(target)));
      try {
        await queries.shownColumns(project_id, query, new Set(confirmed));
      } catch (thrown) {
        if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
        throw fieldFault("invalid_input", thrown.detail, ["enabled"]);
      }
    },
    listProperties: async (project_id, target) =>
      await listProperties(queries, [present(await getInsight(sql, project_id, Number(target)))]),
  };
}

export function openBoardReader({ sql, queries, clock }: InsightParts): BoardReader {
  const current = async ({ kind, project_id, target }: SharedLink): Promise<SharedContent | undefined> => {
    const id = Number(target);
    if (kind === "dashboard") return await getDashboardContent(sql, project_id, id);
    const row = await getInsight(sql, project_id, id);
    return row && { ...readNames(row), tiles: [{ insight_id: id, text: null, layouts: {} }] };
  };
  return {
    current,
    compute: async ({ project_id, shown_properties }, content) => {
      const confirmed = new Set(shown_properties);
      const end = clock.elapsed() + sharingLimits.computeMsMax;
      const insights: SharedInsight[] = [];
      const not_shown: NotShown[] = [];
      let timezone = "UTC";
      for (const row of await getShownInsights(sql, project_id, content)) {
        const isLate = clock.elapsed() > end;
        const answer = await answerInsight(queries, row, confirmed, isLate);
        const { timezone: zone = timezone, reason, ...shown } = answer;
        timezone = zone;
        const insight = { insight_id: row.id, ...readNames(row) };
        if (reason !== undefined) not_shown.push({ insight_id: row.id, name: insight.name, reason });
        insights.push({ ...insight, ...shown });
      }
      return { timezone, insights, not_shown };
    },
  };
}

function readNames({ name, derived_name, description }: InsightRow) {
  return { name: name || derived_name || "Insight", description: description ?? "" };
}

interface InsightAnswer extends Omit<SharedInsight, "insight_id" | "name" | "description"> {
  timezone?: string;
  /** Why it is not shown, for members: it may name what its query reads. */
  reason?: string;
}

/** The one sentence that a link has for any insight that it does not show. */
const hidden = { results: [], error: "This insight is not shown by a link." };

/** @throws the error of an unreachable or busy store: the computation is tried again. */
async function answerInsight(
  queries: QueryEngine,
  row: InsightRow,
  confirmed: ReadonlySet<string>,
  isLate: boolean,
): Promise<InsightAnswer> {
  try {
    const shown = await queries.shownColumns(row.project_id, row.query, confirmed);
    if (isLate) return { results: [], error: "The dashboard's other insights took too long." };
    const abort = AbortSignal.timeout(sharingLimits.insightMsMax);
    const { type, results, table, timezone, totals, drawing } = await runWithTotals(
      queries,
      row.project_id,
      row.query,
      { abort },
    );
    const { columns = [], types = [] } = table ?? {};
    const reason = findUnshown(shown, types);
    if (reason !== undefined) return { ...hidden, reason };
    return {
      type,
      ...(table && {
        columns: types.map((type, i) => [shown ? (shown.names[i] ?? `Column ${i + 1}`) : columns[i]!, type]),
      }),
      results: await mapInSlices(results, withoutOthers),
      ...(totals && { totals: totals.map(withoutOthers) }),
      timezone,
      // Nothing else of the query is sent.
      look: drawing,
    };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
    return { ...hidden, reason: thrown.detail };
  }
}

/** The members of results that pictures need. Others, such as filters and persons, are not sent. */
const shownMembers: ReadonlySet<string> = new Set(
  (
    "label labels days data count aggregated_value breakdown_value compare_label action order name custom_name math " +
    "math_property median_conversion_time average_conversion_time date values status bins source target key kind " +
    "value previous until date_to"
  ).split(" "),
);

function withoutOthers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOthers);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name]) => shownMembers.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutOthers(member)]));
}
