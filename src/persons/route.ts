// Persons over HTTP. Never shows a person of another project.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { pageText, readPage, requestUrl } from "../http/page.ts";
import { listSchema, reply } from "../http/schema.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import type { Postgres } from "../storage/postgres.ts";
import { orderDeletion } from "./deletion/store.ts";
import { personModel, personText } from "./model.ts";
import { KeptCounts } from "../work/kept_counts.ts";
import { countPersons, listMainIds, searchMainIds } from "./listing/store.ts";
import { type Person, findPersonByDistinctId, findPersonByUuid, readPersons } from "./reading/store.ts";

export interface PersonRoutes {
  gate: Gate;
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function personRoutes(parts: PersonRoutes) {
  const app = new Elysia({ name: "persons", tags: ["Persons"] });
  const counted = { ...parts, counts: new KeptCounts(parts.clock) };
  for (const home of projectHomes) {
    app.use(listRoute(counted, `${home}/persons/`));
    app.use(oneRoutes(counted, `${home}/persons/:uuid/`));
  }
  return app;
}

interface Counted extends PersonRoutes {
  counts: KeptCounts;
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
      const { count, persons } = distinct_id
        ? await onePage(findPersonByDistinctId(clickhouse, project.id, distinct_id), page.offset)
        : await somePage(parts, project.id, search, page);
      return json(pageText(url, page, count, persons.map(personText)));
    },
    {
      project_scope: "person:read",
      detail: {
        summary: "List persons, by their main distinct ids",
        parameters: [
          queryParameter("distinct_id", "Only the person of this distinct id."),
          queryParameter("search", "Only persons with an id, an e-mail address or a name that holds this."),
          queryParameter("limit", "Persons on the page."),
          queryParameter("offset", "Persons before it."),
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
      async ({ project, params }) => json(personText(await present(clickhouse, project.id, params))),
      {
        project_scope: "person:read",
        detail: { summary: "Get a person", responses: { 200: reply("The person.", personModel) } },
      },
    )
    .delete(
      path,
      async ({ project, params, request, access, status }) => {
        const { uuid, distinct_ids } = await present(clickhouse, project.id, params);
        const delete_events = new URL(request.url).searchParams.get("delete_events") === "true";
        const order = { project_id: project.id, person_id: uuid, main_id: distinct_ids[0]!, distinct_ids };
        const by = { user_id: access.user.id, key_id: access.key.id };
        await orderDeletion(sql, clickhouse, { ...order, ...by, delete_events }, clock.now() * 1000);
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
          parameters: [queryParameter("delete_events", "true: its events as well.")],
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

interface Shown {
  count: number;
  persons: Person[];
}

async function onePage(finding: Promise<Person | undefined>, offset: number): Promise<Shown> {
  const person = await finding;
  if (!person) return { count: 0, persons: [] };
  return { count: 1, persons: offset === 0 ? [person] : [] };
}

async function somePage(
  { clickhouse, counts }: Counted,
  project_id: number,
  search: string | undefined,
  page: { limit: number; offset: number },
): Promise<Shown> {
  if (search !== undefined) {
    const { count, mains } = await searchMainIds(clickhouse, project_id, search, page);
    return { count, persons: await readPersons(clickhouse, project_id, mains) };
  }
  const [count, persons] = await Promise.all([
    counts.count(project_id, "all", () => countPersons(clickhouse, project_id)),
    listMainIds(clickhouse, project_id, page).then((mains) => readPersons(clickhouse, project_id, mains)),
  ]);
  return { count, persons };
}

async function present(
  clickhouse: ClickHouse,
  project_id: number,
  { uuid }: Record<string, string>,
): Promise<Person> {
  const person = uuid && isUuid(uuid) ? await findPersonByUuid(clickhouse, project_id, uuid) : undefined;
  if (!person) throw new Fault("not_found", "Person not found.");
  return person;
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

function queryParameter(name: string, description: string) {
  return { name, in: "query", required: false, description, schema: { type: "string" as const } };
}
