// Persons over HTTP. Never shows a person of another project.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { begunTexts } from "../http/pages/long_page.ts";
import { pageEnds, pageReply, readPage, requestUrl, withoutComma } from "../http/pages/page.ts";
import { flagParameter, listSchema, pageParameters, queryParameter, reply } from "../http/fields/schema.ts";
import { streamedReply } from "../http/pages/sliced.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { orderDeletion } from "./deletion/store.ts";
import { distinctIdModel, personModel, personText } from "./model.ts";
import { CountCache } from "../work/count_cache.ts";
import { countPersons, listMainIds, searchMainIds } from "./listing/store.ts";
import { listDistinctIds } from "./reading/large_store.ts";
import { personBlocks } from "./reading/page.ts";
import { type Person, findMainId, findPersonByDistinctId, findPersonByUuid } from "./reading/store.ts";

export interface PersonRoutes {
  gate: Gate;
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function personRoutes(parts: PersonRoutes) {
  const app = new Elysia({ name: "persons", tags: ["Persons"] });
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  for (const home of projectHomes) {
    app.use(listRoute(counted, `${home}/persons/`));
    app.use(oneRoutes(counted, `${home}/persons/:uuid/`));
    app.use(distinctIdRoute(counted, `${home}/persons/:uuid/distinct_ids/`));
  }
  return app;
}

interface Counted extends PersonRoutes {
  counts: CountCache;
}

function listRoute(parts: Counted, path: string) {
  const { gate, clickhouse } = parts;
  return new Elysia({ name: `persons: ${path}`, tags: ["Persons"] }).use(gate).get(
    path,
    async ({ project, request }) => {
      const url = requestUrl(request);
      const page = readPage(url.searchParams);
      const distinct_id = url.searchParams.get("distinct_id") || undefined;
      const search = url.searchParams.get("search")?.trim() || undefined;
      const asked = readsUntil(clickhouse, request.signal);
      const { count, persons } = distinct_id
        ? await onePage(findPersonByDistinctId(asked, project.id, distinct_id), page.offset)
        : await somePage(parts, asked, project.id, search, page);
      const { head, tail } = pageEnds(url, page, count);
      return await streamedReply(head, withoutComma(persons), tail);
    },
    {
      project_scope: "person:read",
      detail: {
        summary: "List persons, by their main distinct ids",
        parameters: [
          queryParameter("distinct_id", "Only the person of this distinct id."),
          queryParameter("search", "Only persons with an id, an e-mail address or a name that holds this."),
          ...pageParameters("Persons"),
        ],
        responses: { 200: reply("The persons.", listSchema(personModel)) },
      },
    },
  );
}

function oneRoutes({ gate, sql, clickhouse, clock, counts }: Counted, path: string) {
  return new Elysia({ name: `persons: ${path}`, tags: ["Persons"] })
    .use(gate)
    .get(
      path,
      async ({ project, params }) => {
        const uuid = uuidOf(params);
        return json(personText(present(await findPersonByUuid(clickhouse, project.id, uuid))));
      },
      {
        project_scope: "person:read",
        detail: { summary: "Get a person", responses: { 200: reply("The person.", personModel) } },
      },
    )
    .delete(
      path,
      async ({ project, params, request, access, status }) => {
        const person_id = uuidOf(params);
        const main_id = present(await findMainId(clickhouse, project.id, person_id));
        const delete_events = new URL(request.url).searchParams.get("delete_events") === "true";
        const by = { user_id: access.user.id, key_id: access.key.id };
        const order = { project_id: project.id, person_id, main_id, delete_events, ...by };
        if (!(await orderDeletion(sql, clickhouse, order, clock.now() * 1000))) throw personNotFound();
        counts.forget(project.id);
        return status(204);
      },
      {
        project_scope: "person:write",
        detail: {
          summary: "Delete a person",
          description:
            "Its properties, and which ids belong together; with `delete_events=true` also all its events that " +
            "arrived until now. What arrives later under one of its ids is a new person's.",
          parameters: [flagParameter("delete_events", "true: its events as well.")],
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

function distinctIdRoute({ gate, clickhouse }: Counted, path: string) {
  return new Elysia({ name: `persons: ${path}`, tags: ["Persons"] }).use(gate).get(
    path,
    async ({ project, params, request }) => {
      const url = requestUrl(request);
      const page = readPage(url.searchParams);
      const main_id = present(await findMainId(clickhouse, project.id, uuidOf(params)));
      const { count, distinct_ids } = await listDistinctIds(clickhouse, project.id, main_id, page);
      return pageReply(url, page, count, distinct_ids);
    },
    {
      project_scope: "person:read",
      detail: {
        summary: "List a person's distinct ids, the main one first",
        parameters: [...pageParameters("Distinct ids")],
        responses: { 200: reply("The distinct ids.", listSchema(distinctIdModel)) },
      },
    },
  );
}

interface Shown {
  count: number;
  /** JSON objects with a comma before each of them. */
  persons: AsyncGenerator<Uint8Array, void>;
}

async function onePage(finding: Promise<Person | undefined>, offset: number): Promise<Shown> {
  const person = await finding;
  const persons = person && offset === 0 ? [person] : [];
  return { count: person ? 1 : 0, persons: await begunTexts(single(persons), personText) };
}

async function* single(persons: Person[]): AsyncGenerator<Person[], void> {
  yield persons;
}

async function somePage(
  { clickhouse, counts }: Counted,
  asked: ClickHouse,
  project_id: number,
  search: string | undefined,
  page: { limit: number; offset: number },
): Promise<Shown> {
  const textsOf = (mains: string[]) => begunTexts(personBlocks(asked, project_id, mains), personText);
  if (search !== undefined) {
    const { count, mains } = await searchMainIds(asked, project_id, search, page);
    return { count, persons: await textsOf(mains) };
  }
  // The count is others' as well: it is taken to its end.
  const [count, persons] = await Promise.all([
    counts.count(project_id, "all", () => countPersons(clickhouse, project_id)),
    listMainIds(asked, project_id, page).then(textsOf),
  ]);
  return { count, persons };
}

/** @throws Fault not_found for what is no UUID. */
function uuidOf({ uuid = "" }: Record<string, string>): string {
  if (!isUuid(uuid)) throw personNotFound();
  return uuid.toLowerCase();
}

function present<Found>(found: Found | undefined): Found {
  if (found === undefined) throw personNotFound();
  return found;
}

function personNotFound(): Fault {
  return new Fault("not_found", "Person not found.");
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}
