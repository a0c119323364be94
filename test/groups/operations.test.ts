import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
}, storesStartMsMax);

afterAll(cleanUp);

function event(name: string, distinct_id: string, properties: object, more: object = {}) {
  return { event: name, distinct_id, properties, ...more };
}

/** Sends, and waits until the events have left the journal. */
async function send(...batch: object[]): Promise<void> {
  const reply = await post(server, "/batch/", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  await rested(server);
}

const get = (path: string): Promise<Answer> => ask(server, "GET", `/api/projects/1/${path}`);
const results = ({ body }: Answer) => body["results"] as Record<string, unknown>[];

test("groups are made by $groupidentify alone, five types of them", async () => {
  await send(
    event(
      "$groupidentify",
      "g",
      { $group_type: "company", $group_key: "acme", $group_set: { size: 1, name: "Acme" } },
      { timestamp: "2024-01-01T00:00:00Z" },
    ),
    event(
      "$groupidentify",
      "g",
      { $group_type: "company", $group_key: "acme", $group_set: { size: 2 } },
      { timestamp: "2024-01-02T00:00:00Z" },
    ),
    event("e", "g", { $groups: { company: "other", team: "t" } }),
  );
  await until(async () => results(await get("groups/")).length > 0);
  const { body } = await get("groups/");
  expect(body["count"]).toBe(1);
  expect(body["results"] as unknown[]).toEqual([
    {
      group_type_index: 0,
      group_type: "company",
      group_key: "acme",
      group_properties: { size: 2, name: "Acme" },
      properties: { size: 2, name: "Acme" },
      notebook: null,
      created_at: "2024-01-01T00:00:00Z",
    },
  ]);
  expect(results(await get("groups/?group_type=company&group_key=other"))).toEqual([]);
  const { clickhouse } = await storesOf(server);
  const attached = await clickhouse.query<{ group_types: string[]; group_keys: string[] }>(
    "SELECT group_types, group_keys FROM events WHERE has(group_types, 'team')",
  );
  expect(attached).toEqual([{ group_types: ["company", "team"], group_keys: ["other", "t"] }]);
  // One after the other, as they come: the seventh and eighth find no place.
  for (const type of ["a", "b", "c", "d", "e"]) {
    await send(event("$groupidentify", "g", { $group_type: type, $group_key: "1", $group_set: {} }));
  }
  await until(async () => results(await get("groups/")).length === 4);
  await until(async () => {
    const { body: warnings } = await get("ingestion_warnings/?type=group_types_limit_exceeded");
    return warnings["count"] === 2;
  });
  expect(results(await get("groups/")).map((one) => one["group_type"])).toEqual(["a", "b", "c", "company"]);
  expect(results(await get("events/?event=$groupidentify")).length).toBe(7);
});

test("groups are listed by type and key, page by page", async () => {
  const keys = ({ body }: Answer) =>
    (body["results"] as Record<string, unknown>[]).map((one) => `${one["group_type"]}:${one["group_key"]}`);
  const first = await get("groups/?limit=3");
  expect(keys(first)).toEqual(["a:1", "b:1", "c:1"]);
  expect(first.body["count"]).toBe(4);
  const next = new URL(String(first.body["next"]));
  expect(keys(await ask(server, "GET", next.pathname + next.search))).toEqual(["company:acme"]);
  const beyond = await get("groups/?limit=3&offset=9");
  expect([keys(beyond), beyond.body["count"]]).toEqual([[], 4]);
  expect(keys(await get("groups/?group_type=b"))).toEqual(["b:1"]);
  expect(keys(await get("groups/?group_key=acme"))).toEqual(["company:acme"]);
  expect(keys(await get("groups/?group_type=none"))).toEqual([]);
});
