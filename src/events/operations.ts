// Events over HTTP. They are sent as the store wrote them: none becomes an object.

import { requireScopes } from "../access/scope.ts";
import { clickhouseTime, toNow } from "../core/dates.ts";
import { JsonCursor, pastValue } from "../core/json/json_cursor.ts";
import { limits } from "../core/limits.ts";
import { fieldFault } from "../http/fields/field_fault.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { csvDescription, csvReply, linkHeader, tablePage, wantsCsv } from "../http/pages/csv.ts";
import { type Page, pageLinks, streamedPage } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { personText } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import { findPagePersons } from "../persons/reading/store.ts";
import type { QueryEngine } from "../query/engine.ts";
import { eventColumnRows } from "../query/events/page.ts";
import { tableReply } from "../query/results/table_reply.ts";
import type { QueryAnswer } from "../query/store.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, toReads } from "../storage/clickhouse/query_options.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { personKeysIn, refuseUnset } from "../storage/events/lifted_properties.ts";
import { expressionsIn } from "../storage/events/property_filter.ts";
import { primed, slices } from "../work/slices.ts";
import { eventLimits } from "./limits.ts";
import { eventModel, listedEventModel } from "./model.ts";
import { oneEventOperations } from "./one_operations.ts";
import { eventParameters, type EventQuery, isByTime } from "./parameters.ts";
import { type EventPage, listEvents, listEventsInSql, type Within } from "./store.ts";

type EventParts = RoomParts<"gate" | "clickhouse" | "clock"> & { engine: Pick<QueryEngine, "within"> };

export function eventRoutes({ gate, clickhouse, clock, engine }: EventParts) {
  return mounted(gate, "Events", [
    projectOperation("GET /events/", "query:read", {
      summary: "List events, newest first by default",
      description:
        "With `select`, a JSON list of expressions of SQL, `results` are rows of these `columns` with their " +
        `\`types\`; \`hasMore\` and \`next\` show whether there are more, and there is no \`count\`. ${csvDescription}`,
      query: eventParameters(clock),
      replies: { 200: reply("The events.", listSchema(listedEventModel)) },
      answer: async ({ access, project, query, request, url }) => {
        const { include_person = false, select } = query;
        const { scopes } = access.key;
        const isTable = wantsCsv(request, query.format);
        if (include_person) {
          if (select.length > 0) throw fieldFault("invalid_input", selectsPerson, ["include_person"]);
          requireScopes(scopes, ["person:read"]);
        }
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        await refuseUnset(reads.query, project.id, personKeysIn(query.properties), "properties");
        const caller = { scopes, abort: request.signal, person: access.user.id };
        const within: Within = (work) => engine.within(project.id, caller, work);
        if (select.length > 0) {
          return await selectedReply({ url, page: query, isTable }, (page) =>
            within((context) => eventColumnRows(context, query, page)),
          );
        }
        const moment = { now: clock.now(), timezone: readStoredZone(project.timezone) };
        const read = (page: Page) => eventPage(reads, within, { ...query, ...page }, moment);
        if (isTable) {
          const model = include_person ? listedEventModel : eventModel;
          return await csvReply({ url, name: "events", model, page: query, read });
        }
        const { count, rows } = await read(query);
        return await streamedPage(url, query, count, rows);
      },
    }),
    ...oneEventOperations({ clickhouse, clock }),
  ]);
}

async function eventPage(
  reads: ProjectReads,
  within: Within,
  requested: EventQuery,
  { now, timezone }: { now: number; timezone: string },
): Promise<EventPage> {
  const query = {
    ...requested,
    before: requested.before ?? clickhouseTime(toNow({ now: now + limits.listAheadMsMax, timezone })),
  };
  const { include_person, where, orderBy, properties } = query;
  const listed =
    isByTime(orderBy) && where.length === 0 && expressionsIn(properties).length === 0
      ? listEvents(reads, { ...query, now, timezone, oldestFirst: orderBy[0] === "timestamp" }, query)
      : listEventsInSql(reads, within, query, query);
  const { count, rows } = await listed.catch((thrown: unknown) => {
    throw properties.length > 0 ? filterFault(thrown, "properties", "event, after or before") : thrown;
  });
  return { count, rows: include_person ? await primed(withPersons(reads, rows)) : rows };
}

const selectsPerson = "With select the column person shows an event's person.";

/** A page of selected columns of events; the number of all events is not counted. */
async function selectedReply(
  { url, page: requested, isTable }: { url: URL; page: Page; isTable: boolean },
  read: (page: Page) => Promise<QueryAnswer<unknown[]>>,
): Promise<Response> {
  const page = isTable ? tablePage(url, requested) : requested;
  const { results, table } = await read(page);
  const { columns, types, hasMore = false } = table ?? {};
  const through = page.offset + page.limit + (hasMore ? 1 : 0);
  if (isTable) {
    const headers = linkHeader(url, page, through);
    return await tableReply({ results, ...(table && { table }) }, "csv", { name: "events", headers });
  }
  return await slicedJson({ ...pageLinks(url, page, through), columns, types, hasMore, results });
}

/**
 * Adds a member `person` to each row: null where an event belongs to none.
 * @param chunks JSON objects in whole chunks, each object with a comma before it.
 */
async function* withPersons(reads: ProjectReads, chunks: AsyncGenerator<Uint8Array, void>) {
  for await (const chunk of chunks) {
    for await (const some of slices(rowsIn(chunk), eventLimits.personsAtOnceMax)) {
      const ids = some.map(readDistinctId);
      const persons = await findPagePersons(reads, [...new Set(ids)]);
      const texts = ids.map((id) => personMember(persons.get(id)));
      yield Buffer.concat(some.flatMap((row, i) => [row.subarray(0, -1), Buffer.from(texts[i]!)]));
    }
  }
}

function rowsIn(chunk: Uint8Array): Buffer[] {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  const rows: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = pastValue(bytes, at + 1);
    rows.push(bytes.subarray(at, end));
    at = end;
  }
  return rows;
}

/** @param row with its comma. */
function readDistinctId(row: Buffer): string {
  const members = new JsonCursor(row, 1);
  while (members.next()) {
    if (row.toString("utf8", members.key, members.keyEnd) !== "distinct_id") continue;
    return JSON.parse(row.toString("utf8", members.value, members.end)) as string;
  }
  throw new Error("an event has no distinct_id");
}

function personMember(person: Person | undefined): string {
  return `,"person":${person ? personText(person) : "null"}}`;
}
