// Persons over HTTP.

import type { Gate } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { flagParameter, pageParameters, searchParameter, textParameter } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { notFound, present, uuidOf } from "../http/found.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { begunTexts } from "../http/pages/sliced.ts";
import { type Page, pageReply, streamedPage } from "../http/pages/page.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, readsOf } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { CountCache } from "../work/count_cache.ts";
import { orderDeletion } from "./deletion/store.ts";
import { countPersons, listMainIds, searchMainIds } from "./listing/store.ts";
import { distinctIdModel, personModel, personText } from "./model.ts";
import type { Person } from "./reading/fold.ts";
import { listDistinctIds } from "./reading/large_store.ts";
import { personBlocks } from "./reading/page.ts";
import { findMainId, findPersons, readPersons } from "./reading/store.ts";

interface PersonParts {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

type Counted = PersonParts & { counts: CountCache };

export function personRoutes({ gate, ...parts }: PersonParts & { gate: Gate }) {
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  return mounted(gate, "Persons", [...listOperations(counted), ...oneOperations(counted)]);
}

const nobody = "Person not found.";

function listOperations(parts: Counted) {
  const { clickhouse } = parts;
  return [
    projectOperation({
      method: "GET",
      path: "persons/",
      scope: "person:read",
      summary: "List persons, by their main distinct ids",
      query: {
        distinct_id: textParameter("Only the person of this distinct id."),
        search: searchParameter(
          "Only persons with a distinct id, an e-mail address or a name that contains this text.",
        ),
        ...pageParameters("Persons"),
      },
      replies: { 200: reply("The persons.", listSchema(personModel)) },
      answer: async ({ project, query, request, url }) => {
        const { distinct_id, search } = query;
        const reads = readsOf(readsUntil(clickhouse, request.signal), project.id);
        const { count, persons } = distinct_id
          ? await onePage(reads, distinct_id, query.offset)
          : await somePage(parts, reads, search, query);
        return await streamedPage(url, query, count, persons);
      },
    }),
    projectOperation({
      method: "GET",
      path: "persons/:uuid/distinct_ids/",
      scope: "person:read",
      summary: "List a person's distinct ids, the main one first",
      find: async ({ project, params: { uuid } }) =>
        present(await findMainId(readsOf(clickhouse, project.id), uuidOf(uuid, nobody)), nobody),
      query: pageParameters("Distinct ids"),
      replies: { 200: reply("The distinct ids.", listSchema(distinctIdModel)) },
      answer: async ({ project, found: main_id, query, url }) => {
        const { count, distinct_ids } = await listDistinctIds(
          readsOf(clickhouse, project.id),
          main_id,
          query,
        );
        return pageReply(url, query, count, distinct_ids);
      },
    }),
  ];
}

function oneOperations({ sql, clickhouse, clock, counts }: Counted) {
  return [
    projectOperation({
      method: "GET",
      path: "persons/:uuid/",
      scope: "person:read",
      summary: "Get a person",
      replies: { 200: reply("The person.", personModel) },
      answer: async ({ project, params: { uuid } }) => {
        const reads = readsOf(clickhouse, project.id);
        const main_id = present(await findMainId(reads, uuidOf(uuid, nobody)), nobody);
        const [person] = await readPersons(reads, [main_id]);
        return jsonReply(personText(present(person, nobody)));
      },
    }),
    projectOperation({
      method: "DELETE",
      path: "persons/:uuid/",
      scope: "person:write",
      summary: "Delete a person",
      description:
        "Its properties, and which ids belong together; with `delete_events=true` also all its events that " +
        "arrived until now. What arrives later under one of its ids is a new person's.",
      query: { delete_events: flagParameter("true: its events as well.") },
      replies: gone,
      answer: async ({ access, project, params: { uuid }, query: { delete_events = false } }) => {
        const person_id = uuidOf(uuid, nobody);
        const main_id = present(await findMainId(readsOf(clickhouse, project.id), person_id), nobody);
        const by = { user_id: access.user.id, key_id: access.key.id };
        const order = { project_id: project.id, person_id, main_id, delete_events, ...by };
        if (!(await orderDeletion(sql, clickhouse, order, clock.now() * 1000))) throw notFound(nobody);
        counts.forget(project.id);
      },
    }),
  ];
}

function jsonReply(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** The number of persons, and those of a page as JSON objects with a comma before each. */
interface Shown {
  count: number;
  persons: AsyncGenerator<Uint8Array, void>;
}

async function onePage(reads: ProjectReads, distinct_id: string, offset: number): Promise<Shown> {
  const person = (await findPersons(reads, [distinct_id])).get(distinct_id);
  const persons = person && offset === 0 ? [person] : [];
  return { count: person ? 1 : 0, persons: await begunTexts(single(persons), personText) };
}

async function* single(persons: Person[]): AsyncGenerator<Person[], void> {
  yield persons;
}

async function somePage(
  { clickhouse, counts }: Counted,
  reads: ProjectReads,
  search: string | undefined,
  page: Page,
): Promise<Shown> {
  const textsOf = (mains: string[]) => begunTexts(personBlocks(reads, mains), personText);
  if (search !== undefined) {
    const { count, mains } = await searchMainIds(reads, search, page);
    return { count, persons: await textsOf(mains) };
  }
  const { project_id } = reads;
  // Other requests use the count as well: it is read to its end.
  const [count, persons] = await Promise.all([
    counts.count(project_id, "all", () => countPersons(readsOf(clickhouse, project_id))),
    listMainIds(reads, page).then(textsOf),
  ]);
  return { count, persons };
}
