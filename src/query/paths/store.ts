// The statement of paths: how often one step of persons' paths followed another.

import { eventPropertyText, type PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import { queryLimits } from "../limits.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { PathLink } from "../result.ts";
import { Draft, type QueryContext } from "../store.ts";
import { isAsked, type PathsFilter } from "./check.ts";

interface PathsScope {
  filter: PathsFilter;
  filters: readonly PropertyFilter[];
  span: DateSpan;
  /** The name of a step in SQL, where it is not that of the event, page or screen alone. */
  nameSql: string | undefined;
}

/** Steps of a path and links in a reply, unless the query has others: PostHog's. */
const defaults = { steps: 5, links: 50 };

/** Replaces the middle of a path that is too long. */
const middle = "...";

/**
 * A path is what a person did without a pause of half an hour; repetitions in a row are one step, at the last of their
 * times. Events of one moment are in the order of their names.
 * @throws Fault when the query is too heavy.
 */
export async function pathRows(context: QueryContext, scope: PathsScope) {
  const { minEdgeWeight, maxEdgeWeight, edgeLimit } = scope.filter;
  const { text, params } = linksText(context, scope);
  params["links"] = edgeLimit ?? defaults.links;
  params["min"] = minEdgeWeight ?? 0;
  params["max"] = maxEdgeWeight || 0;
  return await context.run<Omit<PathLink, "value"> & { value: string | number }>(
    `SELECT link.1 AS source, link.2 AS target, count() AS value, avg(link.3) / 1000 AS average_conversion_time
     FROM (${text})
     GROUP BY source, target HAVING value >= {min:Int64} AND ({max:Int64} = 0 OR value <= {max:Int64})
     ORDER BY value DESC, source, target LIMIT {links:UInt32}`,
    params,
  );
}

/** The persons who took the step of one key after that of the other, named as in links; or whose path ended there. */
export function pathPersonsText(context: QueryContext, scope: PathsScope): PersonStatement {
  const { pathStartKey, pathEndKey, pathDropoffKey } = scope.filter;
  const { text, params } = linksText(context, scope, Boolean(pathDropoffKey));
  const source = pathDropoffKey || pathStartKey;
  Object.assign(params, { source: source ?? "", target: pathEndKey ?? "" });
  const conditions = [
    ...(source ? ["link.1 = {source:String}"] : []),
    ...(pathEndKey ? ["link.2 = {target:String}"] : []),
    ...(pathDropoffKey ? ["link.3 IS NULL"] : []),
  ];
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
  return { text: `SELECT person_id FROM (${text})${where}`, params };
}

/**
 * A row for each pair of steps of each path: its person, and the names of both with the time between them.
 * @param withEnds each path has one more, after its last step, whose time is null.
 */
function linksText(context: QueryContext, scope: PathsScope, withEnds = false): PersonStatement {
  const draft = new Draft(context);
  const events = stepEvents(draft, scope);
  const { where, path } = shownPart(draft, scope.filter);
  draft.params["pause"] = queryLimits.pathPauseMs * 1000;
  const [ones, nexts] = withEnds
    ? ["path", "arrayPushBack(arrayPopFront(path), (NULL, ''))"]
    : ["arrayPopBack(path)", "arrayPopFront(path)"];
  const text = `SELECT person_id, arrayJoin(arrayMap(
         (one, next, i) -> (concat(toString(i), '_', one.2), concat(toString(i + 1), '_', next.2), next.1 - one.1),
         ${ones}, ${nexts}, arrayEnumerate(${ones}))) AS link
       FROM (
         SELECT person_id, ${path} AS path FROM (
           SELECT
             person_id,
             arrayMap((one, next) -> one.2 != next.2, arrayPopBack(visit), arrayPopFront(visit)) AS changes,
             arrayFilter((one, isLast) -> isLast, visit, arrayPushBack(changes, 1)) AS steps,
             steps.2 AS names
           FROM (
             SELECT person_id,
               arrayJoin(arraySplit((one, pause) -> pause >= {pause:Int64}, events, arrayDifference(events.1))) AS visit
             FROM (SELECT person_id, arraySort(groupArray((at, name))) AS events FROM (${events})
               GROUP BY person_id)))
         WHERE ${where})`;
  return { text, params: draft.params };
}

const withoutSlash = (text: string): string =>
  text.length > 1 && text.endsWith("/") ? text.slice(0, -1) : text;

/** Events with a step's name: of a page view its address, of a screen its name, else the event's. */
function stepEvents(draft: Draft, { filter, filters, span, nameSql }: PathsScope): string {
  const property = (name: string) => {
    draft.params[`property_${name.slice(1)}`] = name;
    return `ifNull(${eventPropertyText(name, `{property_${name.slice(1)}:String}`)}, '')`;
  };
  const names: string[] = [];
  if (isAsked(filter, "$pageview")) {
    const url = property("$current_url");
    const cut = `substring(${url}, 1, length(${url}) - 1)`;
    names.push(`event = '$pageview', if(length(${url}) > 1 AND endsWith(${url}, '/'), ${cut}, ${url})`);
  }
  if (isAsked(filter, "$screen")) names.push(`event = '$screen', ${property("$screen_name")}`);
  const plain = names.length > 0 ? `multiIf(${names.join(", ")}, toString(event))` : "toString(event)";
  const name = nameSql === undefined ? plain : draft.expressions!.value(nameSql);
  const kinds = {
    $pageview: "event = '$pageview'",
    $screen: "event = '$screen'",
    custom_event: "NOT startsWith(event, '$')",
  };
  const types = (filter.includeEventTypes ?? []).filter((type) => type !== "hogql");
  const ofTypes = types.map((type) => kinds[type]).join(" OR ") || "1";
  draft.params["left"] = filter.excludeEvents ?? [];
  return `SELECT person_id, at, ${grouped(draft, filter)} AS name FROM (
      SELECT person_id, toUnixTimestamp64Micro(timestamp) AS at, ${name} AS own_name
      FROM ${draft.eventTable(filters, true)}
      WHERE ${draft.spanCondition(span)} AND ${draft.filterCondition(filters)} AND (${ofTypes}))
    WHERE NOT has({left:Array(String)}, name)`;
}

/** The first of the groupings that a name has in it, else the name. */
function grouped(draft: Draft, { pathGroupings }: PathsFilter): string {
  const parts = (pathGroupings ?? []).map((grouping, i) => {
    // Everything but the star means itself.
    const pattern = grouping.split("*").map((text) => text.replace(/[!-/:-@[-^`{-~]/g, String.raw`\$&`));
    draft.params[`grouping_${i}`] = grouping;
    draft.params[`pattern_${i}`] = `(?s)${pattern.join(".*")}`;
    return `match(own_name, {pattern_${i}:String}), {grouping_${i}:String}`;
  });
  return parts.length > 0 ? `multiIf(${parts.join(", ")}, own_name)` : "own_name";
}

/** Selects which paths are shown, and which of their `steps`, called `names`. */
function shownPart(draft: Draft, filter: PathsFilter): { where: string; path: string } {
  const { startPoint, endPoint, stepLimit } = filter;
  draft.params["steps"] = stepLimit ?? defaults.steps;
  draft.params["half"] = Math.floor((stepLimit ?? defaults.steps) / 2);
  draft.params["first"] = withoutSlash(startPoint ?? "");
  draft.params["last"] = withoutSlash(endPoint ?? "");
  const first = startPoint ? "indexOf(names, {first:String})" : "1";
  if (!endPoint) return { where: `${first} > 0`, path: `arraySlice(steps, ${first}, {steps:UInt32})` };
  const last = `indexOf(arraySlice(names, ${first}), {last:String})`;
  const where = `${first} > 0 AND ${last} > 0`;
  if (!startPoint) {
    const begin = `greatest(1, toInt64(${last}) - {steps:UInt32} + 1)`;
    return { where, path: `arraySlice(steps, ${begin}, ${last} - ${begin} + 1)` };
  }
  const whole = `arraySlice(steps, ${first}, ${last})`;
  const cut = `arrayConcat(arraySlice(${whole}, 1, {half:UInt32}),
    [(${whole}[{half:UInt32} + 1].1, '${middle}')], arraySlice(${whole}, ${last} - {half:UInt32} + 1))`;
  return { where, path: `if(${last} > {steps:UInt32}, ${cut}, ${whole})` };
}
