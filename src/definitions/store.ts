// Queries in ClickHouse for the names of events and properties. Capture writes them.

import { wordsIn } from "../core/words.ts";
import type { Page } from "../http/pages/page.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import type { Counted } from "../storage/postgres/rows.ts";
import { definitionQueryLimits } from "./limits.ts";

/** Properties that PostHog's SDKs set, besides those that begin with `$`: advertising parameters, and a few more. */
export const coreProperties = wordsIn(`
  utm_source utm_medium utm_campaign utm_content utm_name utm_term gclid gad_source gclsrc dclid gbraid wbraid fbclid
  msclkid twclid li_fat_id mc_cid igshid ttclid rdt_cid epik qclid sccid irclid _kx distinct_id token title
`);

/** Members of `properties` with another meaning: not shown as properties, as in PostHog. */
export const hiddenProperties = wordsIn(`
  distinct_id $set $set_once $unset $groups $group_type $group_key $group_set
  $group_0 $group_1 $group_2 $group_3 $group_4
`);

/** Same as in `definitions.kind`. */
const kinds = { event: 1, person: 2, group: 3 } as const;

/** The id of a definition, computed like the ids of persons. */
const buildId = (project: string, kind: string, groupType: string, name: string) => {
  const half = (from: number, mask: string, version: string) =>
    `reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
      SHA1(concat('definition', toString(${project}), ':', toString(${kind}), ':', ${groupType}, '\\0', ${name})),
      ${from}, 8))), ${mask}), ${version}))`;
  const high = half(1, "0xFFFFFFFFFFFF0FFF", "0x0000000000005000");
  return `reinterpretAsUUID(concat(${high}, ${half(9, "0x3FFFFFFFFFFFFFFF", "0x8000000000000000")}))`;
};

const joinConditions = (conditions: readonly unknown[]): string => conditions.filter(Boolean).join(" AND ");

/** Every word is in the name, in any case. */
const hasWords = "arrayAll(word -> positionCaseInsensitiveUTF8(name, word) > 0, {words:Array(String)})";

export interface EventNameFilter {
  id?: string;
  /** Only these, and without those. */
  ids?: readonly string[] | undefined;
  hiddenIds?: readonly string[] | undefined;
  words?: readonly string[];
  names?: readonly string[] | undefined;
  excluded?: readonly string[];
  /** Whether names begin with `$`; undefined: either. */
  isPostHogs?: boolean | undefined;
  excludeStale?: boolean | undefined;
}

const idConditions = ({ id, ids, hiddenIds = [] }: EventNameFilter, built: string) => [
  id !== undefined && `${built} = {id:UUID}`,
  ids && `has({ids:Array(UUID)}, ${built})`,
  hiddenIds.length > 0 && `NOT has({hidden:Array(UUID)}, ${built})`,
];

const idParams = ({ id, ids, hiddenIds = [] }: EventNameFilter) => ({
  ...(id !== undefined && { id }),
  ...(ids && { ids }),
  ...(hiddenIds.length > 0 && { hidden: hiddenIds }),
});

export interface StoredEventName {
  id: string;
  name: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
  /** Empty where no event is known. */
  last_seen_at: string;
  volume: string;
}

/** The order of events: a column, and whether the highest comes first. */
export interface EventOrder {
  by:
    | "name"
    | "length"
    | "created_at"
    | "last_seen_at"
    | "created_at::date"
    | "last_seen_at::date"
    | "volume_30_day";
  isDescending: boolean;
}

const orderColumns: Readonly<Record<EventOrder["by"], string>> = {
  name: "name",
  /** The shortest name that fits a search is most of what was searched for. */
  length: "lengthUTF8(name)",
  created_at: "created_at",
  "created_at::date": "toDate32(created_at)",
  last_seen_at: "last_at",
  "last_seen_at::date": "toDate32(last_at)",
  volume_30_day: "volume",
};

const volumes = (where: string) => `
  SELECT event, sum(events) AS volume
  FROM (
    SELECT event, day, uniqMerge(uuids) AS events
    FROM event_days
    WHERE project_id = {project_id:UInt32} AND day > today() - {days:UInt16} AND ${where}
    GROUP BY event, day
  )
  GROUP BY event`;

export async function listEventNames(
  reads: ProjectReads,
  filter: EventNameFilter,
  order: readonly EventOrder[],
  page: Page,
): Promise<Counted<StoredEventName>> {
  const byVolume = order.some(({ by }) => by === "volume_30_day");
  // Capture records no more names than a project may have; the days have all.
  const named = "event IN (SELECT name FROM definitions WHERE project_id = {project_id:UInt32} AND kind = 0)";
  const found = `
    SELECT name, created_at, last_at, ${byVolume ? "volume" : "0 AS volume"}
    FROM (
      SELECT name, min(created_at) AS created_at
      FROM definitions
      WHERE project_id = {project_id:UInt32} AND kind = 0 AND ${joinConditions([
        hasWords,
        "NOT has({excluded:Array(String)}, name)",
        filter.names && "name IN {names:Array(String)}",
        filter.isPostHogs !== undefined && `${filter.isPostHogs ? "" : "NOT "}startsWith(name, '$')`,
        ...idConditions(filter, buildId("{project_id:UInt32}", "0", "''", "name")),
      ])}
      GROUP BY name
    ) AS d
    LEFT ANY JOIN (
      SELECT event, max(last) AS last_at
      FROM event_days
      WHERE project_id = {project_id:UInt32} AND day = toDate(0) AND ${named}
      GROUP BY event
    ) AS s ON d.name = s.event
    ${byVolume ? `LEFT ANY JOIN (${volumes(named)}) AS v ON d.name = v.event` : ""}
    ${filter.excludeStale ? "WHERE last_at > now() - toIntervalDay({staleDays:UInt16})" : ""}`;
  const params = {
    words: filter.words ?? [],
    names: filter.names ?? [],
    excluded: filter.excluded ?? [],
    days: definitionQueryLimits.volumeDays,
    staleDays: definitionQueryLimits.staleDays,
    ...idParams(filter),
  };
  const sorted = order.map(({ by, isDescending }) => `${orderColumns[by]}${isDescending ? " DESC" : ""}`);
  const { count, rows } = await readPage<StoredEventName>(reads, found, params, page, {
    columns: `${buildId("{project_id:UInt32}", "0", "''", "name")} AS id, name, toString(created_at) AS created_at,
      if(last_at = toDateTime64(0, 6, 'UTC'), '', toString(last_at)) AS last_seen_at, volume`,
    order: [...sorted, "name"].join(", "),
  });
  return { count, rows: byVolume ? rows : await withVolumes(reads, rows) };
}

/** A page of the rows of `found`, and their number, in one statement, since each costs the engine some ms. */
async function readPage<Row>(
  reads: ProjectReads,
  found: string,
  params: Record<string, unknown>,
  { limit, offset }: Page,
  { columns, order }: { columns: string; order: string },
): Promise<Counted<Row>> {
  const rows = await reads.query<Row & { found: string }>(
    `SELECT ${columns}, found
     FROM (
       SELECT *, count() OVER () AS found
       FROM (${found})
       ORDER BY ${order}
       LIMIT {limit:UInt64} OFFSET {offset:UInt64}
     )
     ORDER BY ${order}`,
    { ...params, limit, offset },
  );
  if (rows[0] || offset === 0) return { count: Number(rows[0]?.found ?? 0), rows };
  const [counted] = await reads.query<{ count: string }>(`SELECT count() AS count FROM (${found})`, params);
  return { count: Number(counted?.count ?? 0), rows };
}

/** Sets of uuids are read for the names of the page only. */
async function withVolumes(reads: ProjectReads, rows: readonly StoredEventName[]) {
  if (rows.length === 0) return [];
  const found = await reads.query<{ event: string; volume: string }>(
    volumes("event IN {names:Array(String)}"),
    { names: rows.map(({ name }) => name), days: definitionQueryLimits.volumeDays },
  );
  const of = new Map(found.map(({ event, volume }) => [event, volume]));
  return rows.map((row) => ({ ...row, volume: of.get(row.name) ?? "0" }));
}

export interface PropertyNameFilter extends Omit<EventNameFilter, "isPostHogs" | "excludeStale"> {
  /** Their owner; undefined: any. */
  type?: keyof typeof kinds;
  group_type_index?: number | undefined;
  isNumerical?: boolean | undefined;
  isFeatureFlag?: boolean | undefined;
  excludeCore?: boolean | undefined;
  /** Events for which the list shows whether they had the property. */
  event_names?: readonly string[] | undefined;
  ofEventsOnly?: boolean | undefined;
}

export interface StoredPropertyName {
  id: string;
  name: string;
  kind: number;
  /** Empty where it is of no group. */
  group_type: string;
  /** Empty while unknown. */
  property_type: string;
  created_at: string;
  is_seen: number;
}

/** The names of properties that match, and their number; those of `event_names` come first. */
export async function listPropertyNames(
  reads: ProjectReads,
  filter: PropertyNameFilter,
  page: Page,
): Promise<Counted<StoredPropertyName>> {
  const { event_names } = filter;
  const isSeen = `name IN (
    SELECT property FROM event_properties
    WHERE project_id = {project_id:UInt32} AND event IN {event_names:Array(String)})`;
  const found = `
    SELECT kind, group_type, name, min(created_at) AS created_at, substring(min(typed), 22) AS property_type,
      ${event_names ? isSeen : "0"} AS is_seen
    FROM definitions
    WHERE project_id = {project_id:UInt32} AND ${propertyConditions(filter)}
    GROUP BY kind, group_type, name
    HAVING ${joinConditions([
      "1",
      filter.isNumerical !== undefined && `property_type ${filter.isNumerical ? "=" : "!="} 'Numeric'`,
      filter.ofEventsOnly && filter.event_names && "is_seen",
    ])}`;
  const params = {
    kind: filter.type ? kinds[filter.type] : 0,
    place: filter.group_type_index ?? 0,
    words: filter.words ?? [],
    names: filter.names ?? [],
    excluded: [...hiddenProperties, ...(filter.excluded ?? [])],
    core: filter.excludeCore ? coreProperties : [],
    event_names: event_names ?? [],
    ...idParams(filter),
  };
  return await readPage(reads, found, params, page, {
    columns: `${buildId("{project_id:UInt32}", "kind", "group_type", "name")} AS id, name, kind, group_type,
      property_type, is_seen, toString(created_at) AS created_at`,
    order: "is_seen DESC, name, kind, group_type",
  });
}

/** Properties of groups whose type was deleted are not listed, like the groups. */
function propertyConditions(filter: PropertyNameFilter): string {
  const { type, group_type_index: place, names, isFeatureFlag, excludeCore } = filter;
  const ofType = place === undefined ? "" : " AND place = {place:UInt8}";
  const types = `SELECT group_type FROM group_types WHERE project_id = {project_id:UInt32}${ofType}`;
  return joinConditions([
    type ? "kind = {kind:UInt8}" : "kind > 0",
    `(kind != 3 OR group_type IN (${types}))`,
    hasWords,
    "NOT has({excluded:Array(String)}, name)",
    names && "name IN {names:Array(String)}",
    isFeatureFlag !== undefined && `${isFeatureFlag ? "" : "NOT "}startsWith(name, '$feature/')`,
    excludeCore && "NOT startsWith(name, '$') AND NOT has({core:Array(String)}, name)",
    ...idConditions(filter, buildId("{project_id:UInt32}", "kind", "group_type", "name")),
  ]);
}

/** Those of the events that had the property. */
export async function listEventsWith(reads: ProjectReads, property: string, events: readonly string[]) {
  const rows = await reads.query<{ event: string }>(
    `SELECT DISTINCT event FROM event_properties
     WHERE project_id = {project_id:UInt32} AND property = {property:String} AND event IN {events:Array(String)}`,
    { property, events },
  );
  return new Set(rows.map(({ event }) => event));
}
