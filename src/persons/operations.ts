// Persons over HTTP.

import type { Gate } from "../access/gate.ts";
import { refuseInput } from "../core/fault.ts";
import { readUuid } from "../core/id.ts";
import { excerpt, notFound } from "../http/fields/field_fault.ts";
import { propertiesParameter } from "../http/fields/property_parameter.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { csvDescription, csvReply, formatParameter, wantsCsv } from "../http/pages/csv.ts";
import { type Page, pageReply, streamedPage } from "../http/pages/page.ts";
import { primedTexts } from "../http/pages/sliced.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, toReads } from "../storage/clickhouse/query_options.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { personKeysIn, refuseUnset } from "../storage/events/lifted_properties.ts";
import { CountCache } from "../work/count_cache.ts";
import { besidePrimed } from "../work/slices.ts";
import { activityOperations } from "./activity/operations.ts";
import { recordChange } from "./activity/store.ts";
import { batchOperations } from "./batch_operations.ts";
import { deletionOperations } from "./deletion/operations.ts";
import * as model from "./model.ts";
import { type CountedParts, nobody, type PersonParts, readPerson, requireMainId } from "./parts.ts";
import { propertyOperations } from "./properties/operations.ts";
import { listDistinctIds } from "./reading/large_store.ts";
import {
  countPersons,
  filterMainIds,
  listMainIds,
  type PersonFilter,
  personOrders,
} from "./reading/list_store.ts";
import { findMainId, findMainIds } from "./reading/main_id_store.ts";
import { personBlocks } from "./reading/store.ts";
import { splitPerson } from "./split/store.ts";

/** Filters of a request for persons, all of which must match their current state, and their order. */
const personParameters = {
  distinct_id: parameter.textParameter("Only the person of this distinct id."),
  email: parameter.textParameter("Only persons whose property `email` is exactly this."),
  properties: propertiesParameter(
    "Only persons that match: a JSON list of property filters of type person.",
    ["person"],
  ),
  search: parameter.searchParameter(
    "Only persons with a distinct id, an e-mail address or a name that contains this text, and the one whose id it is.",
  ),
  ordering: parameter.choiceParameter(
    "The sort order, with a minus before it for the newest first; by default by main distinct ids, the cheapest.",
    personOrders,
  ),
  cohort: parameter.refusedParameter("There are no cohorts here: filter by properties instead."),
};

type PersonQuery = parameter.QueryValues<typeof personParameters> & Page;

export function personRoutes({ gate, ...parts }: PersonParts & { gate: Gate }) {
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  return mounted(gate, "Persons", [
    ...readingOperations(counted),
    ...batchOperations(counted),
    ...propertyOperations(counted),
    ...activityOperations(counted),
    ...splitOperations(counted),
    ...deletionOperations(counted),
  ]);
}

function readingOperations(parts: CountedParts) {
  const { clickhouse } = parts;
  return [
    projectOperation("GET /persons/", "person:read", {
      summary: "List persons",
      description: csvDescription,
      query: {
        ...personParameters,
        format: formatParameter,
        ...parameter.pageParameters("Persons"),
      },
      replies: { 200: reply("The persons.", listSchema(model.personModel)) },
      answer: async ({ project, query, request, url }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const read = (page: Page) => personPage(parts, reads, { ...query, ...page }, project.timezone);
        if (wantsCsv(request, query.format))
          return await csvReply({ url, name: "persons", model: model.personModel, page: query, read });
        const { count, rows } = await read(query);
        return await streamedPage(url, query, count, rows);
      },
    }),
    projectOperation("GET /persons/cohorts/", "person:read", {
      summary: "List no cohorts of a person",
      description: "There are no cohorts here; the list exists for programs that read it of every person.",
      query: { person_id: parameter.textParameter("Any.") },
      replies: { 200: reply("An empty list.", model.noCohortsModel) },
      answer: () => ({ results: [] }),
    }),
    projectOperation("GET /persons/:uuid/distinct_ids/", "person:read", {
      summary: "List a person's distinct ids, the main one first",
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      query: parameter.pageParameters("Distinct ids"),
      replies: { 200: reply("The distinct ids.", listSchema(model.distinctIdModel)) },
      answer: async ({ project, found: main_id, query, url }) => {
        const reads = toReads(clickhouse, project.id);
        return pageReply(url, query, await listDistinctIds(reads, main_id, query));
      },
    }),
    projectOperation("GET /persons/:uuid/", "person:read", {
      summary: "Get a person",
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      replies: { 200: reply("The person.", model.personModel) },
      answer: ({ project, found: main_id }) => readPerson(parts, project, main_id),
    }),
  ];
}

async function personPage(parts: CountedParts, reads: ProjectReads, query: PersonQuery, timezone: string) {
  const { clickhouse, clock, counts } = parts;
  const readTexts = (mains: string[]) => primedTexts(personBlocks(reads, mains), model.personText);
  const filter = await readFilter(reads, query, { now: clock.now(), timezone: readStoredZone(timezone) });
  if (filter) {
    const { count, mains } = await filterMainIds(reads, filter, query, query.ordering).catch(
      (thrown: unknown) => {
        const narrower = "distinct_id, email or search";
        throw filter.properties.length > 0 ? filterFault(thrown, "properties", narrower) : thrown;
      },
    );
    return { count, rows: await readTexts(mains) };
  }
  const { project_id } = reads;
  // Other requests use the count as well: it is read to its end.
  const [count, rows] = await besidePrimed(
    counts.count(project_id, "all", () => countPersons(toReads(clickhouse, project_id))),
    listMainIds(reads, query, query.ordering).then(readTexts),
  );
  return { count, rows };
}

/** The filter of a request; undefined when all persons are listed. @throws Fault as refuseUnset(). */
async function readFilter(
  reads: ProjectReads,
  { distinct_id, email, properties, search }: PersonQuery,
  moment: Pick<PersonFilter, "now" | "timezone">,
): Promise<PersonFilter | undefined> {
  await refuseUnset(reads.query, reads.project_id, personKeysIn(properties), "properties");
  const filters = [...properties];
  if (email !== undefined) filters.push({ type: "person", key: "email", operator: "exact", values: [email] });
  if (distinct_id === undefined && search === undefined && filters.length === 0) return undefined;
  const mains = distinct_id === undefined ? undefined : await findMainIds(reads, [distinct_id]);
  const uuid = search === undefined ? undefined : readUuid(search);
  const searchedId = uuid === undefined ? undefined : await findMainId(reads, uuid);
  return { main_id: mains?.get(distinct_id!), search, searchedId, properties: filters, ...moment };
}

function splitOperations(parts: CountedParts) {
  return [
    projectOperation("POST /persons/:uuid/split/", "person:write", {
      summary: "Split distinct ids off a person",
      description:
        "Each becomes a person of its own, with the uuid of that id. Events belong to their distinct ids and follow " +
        "them, as do the properties that they set. The person keeps its main distinct id, and with it its uuid.",
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      body: model.splitBody,
      replies: { 201: reply("They are split off.", model.successModel) },
      answer: async ({ access, project, found: main_id, body }) => {
        const { sql, clickhouse, clock, counts } = parts;
        const distinct_ids = idsToSplit(main_id, body);
        const now = clock.now();
        const request = { project_id: project.id, main_id, distinct_ids };
        const { unknown, gone } = await splitPerson(sql, clickhouse, request, now * 1000);
        if (gone) throw notFound(nobody);
        if (unknown.length > 0)
          refuseInput(`Not on this person: ${excerpt(unknown.join(", "))}.`, "distinct_ids_to_split");
        counts.forget(project.id);
        await recordChange(sql, { access, project_id: project.id, main_id }, "split_person", now);
        return { success: true };
      },
    }),
  ];
}

/** Undefined for all but the main id. @throws Fault for ids that cannot be split off or stay. */
function idsToSplit(main_id: string, { main_distinct_id, distinct_ids_to_split }: model.SplitBody) {
  const named = "the person's main distinct id, which its uuid is of";
  if (main_distinct_id != null && distinct_ids_to_split != null)
    refuseInput("main_distinct_id cannot be combined with distinct_ids_to_split.", "main_distinct_id");
  if (main_distinct_id != null && main_distinct_id !== main_id) {
    const detail = `Only "${excerpt(main_id)}" can stay: it is ${named}. Split off others by distinct_ids_to_split.`;
    refuseInput(detail, "main_distinct_id");
  }
  if (distinct_ids_to_split?.includes(main_id)) {
    const detail = `"${excerpt(main_id)}" cannot be split off: it is ${named}. Split off the others.`;
    refuseInput(detail, "distinct_ids_to_split");
  }
  return distinct_ids_to_split == null ? undefined : [...new Set(distinct_ids_to_split)];
}
