// Persons over HTTP.

import type { Gate } from "../access/gate.ts";
import { pageParameters, searchParameter, textParameter } from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { present } from "../http/found.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { begunTexts } from "../http/pages/sliced.ts";
import { type Page, pageReply, streamedPage } from "../http/pages/page.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, readsOf } from "../storage/clickhouse/query_options.ts";
import { CountCache } from "../work/count_cache.ts";
import { deletionOperations } from "./deletion/operations.ts";
import { countPersons, listMainIds, searchMainIds } from "./listing/store.ts";
import { distinctIdModel, personModel, personText } from "./model.ts";
import { type CountedParts, mainIdOf, nobody, type PersonParts } from "./parts.ts";
import type { Person } from "./reading/fold.ts";
import { listDistinctIds } from "./reading/large_store.ts";
import { personBlocks } from "./reading/page.ts";
import { findPersons, readPersons } from "./reading/store.ts";

export function personRoutes({ gate, ...parts }: PersonParts & { gate: Gate }) {
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  return mounted(gate, "Persons", [
    ...listOperations(counted),
    ...oneOperations(counted),
    ...deletionOperations(counted),
  ]);
}

function listOperations(parts: CountedParts) {
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
      find: ({ project, params: { uuid } }) => mainIdOf(parts, project, uuid),
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

function oneOperations(parts: CountedParts) {
  return [
    projectOperation({
      method: "GET",
      path: "persons/:uuid/",
      scope: "person:read",
      summary: "Get a person",
      replies: { 200: reply("The person.", personModel) },
      answer: async ({ project, params: { uuid } }) => {
        const main_id = await mainIdOf(parts, project, uuid);
        const [person] = await readPersons(readsOf(parts.clickhouse, project.id), [main_id]);
        return jsonReply(personText(present(person, nobody)));
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
  { clickhouse, counts }: CountedParts,
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
