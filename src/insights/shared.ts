// Insights and dashboards behind a link: the numbers of pictures, without events and persons.

import { Fault } from "../core/fault.ts";
import { toMembers } from "../core/json/dictionary.ts";
import { fieldFault, parseInsightName, present } from "../http/fields/field_fault.ts";
import type { QueryEngine } from "../query/engine.ts";
import { sharingLimits } from "../sharing/limits.ts";
import type { Shareable } from "../sharing/operations.ts";
import type { BoardReader, SharedContent, SharedInsight } from "../sharing/results.ts";
import type { SharedLink } from "../sharing/store.ts";
import { mapInSlices } from "../work/slices.ts";
import { type InsightParts, publicDetail } from "./show.ts";
import { getDashboardContent, getInsight, getInsights, type InsightRow } from "./store.ts";

const listOfEvents = "A list of events is not shown by a link.";

export function shareableInsights({ sql, queries }: InsightParts): Shareable<"insights"> {
  return {
    kind: "insight",
    things: "insights",
    noun: "an insight",
    scopes: ["insight:read"],
    find: async (project_id, id) =>
      String(present(await getInsight(sql, project_id, parseInsightName(id))).id),
    checkShared: async (project_id, target) => {
      const { query } = present(await getInsight(sql, project_id, Number(target)));
      if (queries.check(query).type !== "table") return;
      throw fieldFault("invalid_input", listOfEvents, ["enabled"]);
    },
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
    compute: async (link, { tiles }) => {
      const ids = tiles.flatMap(({ insight_id }) => insight_id ?? []);
      const rows = await getInsights(sql, link.project_id, ids);
      const end = clock.elapsed() + sharingLimits.computeMsMax;
      const insights: SharedInsight[] = [];
      let timezone = "UTC";
      for (const row of ids.flatMap((id) => rows.get(id) ?? [])) {
        const { timezone: zone = timezone, ...answer } = await answerInsight(
          queries,
          row,
          clock.elapsed() <= end,
        );
        timezone = zone;
        insights.push({
          insight_id: row.id,
          ...readNames(row),
          ...answer,
          look: readDrawing(row.query),
        });
      }
      return { timezone, insights };
    },
  };
}

function readNames({ name, derived_name, description }: InsightRow) {
  return { name: name || derived_name || "Insight", description: description ?? "" };
}

/** How results are drawn, and their kind of retention; nothing else of the query is sent. */
function readDrawing(query: unknown): NonNullable<SharedInsight["look"]> {
  const { source, ...own } = toMembers(query);
  const innerQuery = source === undefined ? own : toMembers(source);
  const { display } = toMembers(innerQuery["trendsFilter"]);
  const { retentionType = "retention_recurring" } = toMembers(innerQuery["retentionFilter"]);
  return {
    ...(typeof display === "string" && { display }),
    ...(innerQuery["kind"] === "RetentionQuery" && { retentionType: String(retentionType) }),
  };
}

/** @throws the error of an unreachable or busy store: the computation is tried again. */
async function answerInsight(
  queries: QueryEngine,
  row: InsightRow,
  inTime: boolean,
): Promise<Pick<SharedInsight, "results" | "type" | "error"> & { timezone?: string }> {
  try {
    if (queries.check(row.query).type === "table") return { results: [], error: listOfEvents };
    if (!inTime) return { results: [], error: "The dashboard's other insights took too long." };
    const { type, results, timezone } = await queries.run(row.project_id, row.query, {
      abort: AbortSignal.timeout(sharingLimits.insightMsMax),
    });
    return { type, results: await mapInSlices(results, withoutOthers), timezone };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
    return { results: [], error: publicDetail(thrown) };
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
