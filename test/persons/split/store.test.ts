// Persons split over HTTP: merges undone, however late a merge from before is applied.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ownPersonId } from "../../../src/persons/identity.ts";
import { mergeKind } from "../../../src/persons/merge.ts";
import { mirrorMerges } from "../../../src/persons/mirror_store.ts";
import { finishSplits, splitPerson } from "../../../src/persons/split/store.ts";
import { applyMerges } from "../../../src/persons/store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested, storesOf, until } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

let app: RunningApp;
let stores: Stores;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  stores = await storesOf(app);
}, storesStartMsMax);

afterAll(cleanUp);

const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });
const home = "/api/projects/1";
const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(server(), method, `${home}/${path}`, body);
const splitOf = (distinct_id: string, body: unknown): Promise<Answer> =>
  call("POST", `persons/${ownPersonId(1, distinct_id)}/split/`, body);

async function send(...batch: object[]): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", body })).status).toBe(200);
  await rested(server());
}

const event = (distinct_id: string, $set: object = {}) => ({ event: "e", distinct_id, properties: { $set } });
const identify = (distinct_id: string, $anon_distinct_id: string) => ({
  event: "$identify",
  distinct_id,
  properties: { $anon_distinct_id },
});

/** Ids of the person of a distinct id, the main one first. */
async function idsOf(distinct_id: string): Promise<string[]> {
  const { body } = await call("GET", `persons/?distinct_id=${encodeURIComponent(distinct_id)}`);
  return (body["results"] as { distinct_ids: string[] }[])[0]?.distinct_ids ?? [];
}

/** A person with the ids main, main-1 and main-2, each of which has set a property of its name. */
async function merged(main: string): Promise<void> {
  const ids = [main, `${main}-1`, `${main}-2`];
  await send(...ids.map((id) => event(id, { [id]: true })));
  await send(identify(main, `${main}-1`), identify(main, `${main}-2`));
  await until(async () => (await idsOf(main)).length === 3);
}

test("without a choice every id but the main one becomes a person of its own, and events and properties follow", async () => {
  await merged("whole");
  const { status, body } = await splitOf("whole", {});
  expect([status, body]).toEqual([201, { success: true }]);
  for (const id of ["whole", "whole-1", "whole-2"]) {
    const person = (await call("GET", `persons/${ownPersonId(1, id)}/`)).body;
    expect(person).toMatchObject({ distinct_ids: [id], properties: { [id]: true } });
    const events = (await call("GET", `events/?distinct_id=${id}&event=e`)).body["results"] as object[];
    expect(events).toMatchObject([{ person_id: ownPersonId(1, id) }]);
  }
  const activity = (await call("GET", `persons/${ownPersonId(1, "whole")}/activity/`)).body;
  expect(activity["results"]).toMatchObject([
    { activity: "split_person", detail: { changes: [{ type: "Person", action: "split" }] } },
  ]);
  // Again there is nothing to split.
  expect((await splitOf("whole", { main_distinct_id: "whole" })).status).toBe(201);
});

test("only the listed ids are split off, and may be merged again", async () => {
  await merged("part");
  expect((await splitOf("part", { distinct_ids_to_split: ["part-1", "part-1"] })).status).toBe(201);
  expect([await idsOf("part"), await idsOf("part-1")]).toEqual([["part", "part-2"], ["part-1"]]);
  await send(identify("another", "part-1"));
  await until(async () => (await idsOf("part-1")).length === 2);
  expect(await idsOf("part-1")).toEqual(["another", "part-1"]);
  await splitOf("another", {});
  await send(identify("part", "part-1"));
  await until(async () => (await idsOf("part-1")).length === 3);
  expect(await idsOf("part-1")).toEqual(["part", "part-1", "part-2"]);
});

test("a split that cannot be made is refused by name, and nothing is split", async () => {
  await merged("asked");
  await send(event("else"));
  const wrong: [unknown, string][] = [
    [{ main_distinct_id: "asked-1" }, "main_distinct_id"],
    [{ main_distinct_id: "never seen" }, "main_distinct_id"],
    [{ main_distinct_id: "asked", distinct_ids_to_split: ["asked-1"] }, "main_distinct_id"],
    [{ distinct_ids_to_split: ["asked"] }, "distinct_ids_to_split"],
    [{ distinct_ids_to_split: ["asked-1", "else"] }, "distinct_ids_to_split"],
    [{ distinct_ids_to_split: [] }, "distinct_ids_to_split"],
    [{ distinct_ids_to_split: ["asked-1", 5] }, "distinct_ids_to_split__1"],
    [{ distinct_ids_to_split: Array.from({ length: 1001 }, () => "asked-1") }, "distinct_ids_to_split"],
    [{ distinct_ids: ["asked-1"] }, "distinct_ids"],
  ];
  for (const [body, attr] of wrong) {
    const answer = await splitOf("asked", body);
    const about = JSON.stringify(body).slice(0, 60);
    expect([about, answer.status, answer.body["attr"]]).toEqual([about, 400, attr]);
  }
  const unknown = await splitOf("asked", { distinct_ids_to_split: ["asked-1", "else"] });
  expect(unknown.body["detail"]).toBe("Not on this person: else.");
  expect(await idsOf("asked")).toEqual(["asked", "asked-1", "asked-2"]);
  // An id that is part of another person has no person of its own to be split.
  expect(problemOf(await splitOf("asked-1", {})).slice(0, 3)).toEqual([404, "invalid_request", "not_found"]);
});

test("a person that was merged into another in the meantime is not split", async () => {
  await merged("moved");
  const request = { project_id: 1, main_id: "moved-1", distinct_ids: undefined };
  expect(await splitPerson(stores.sql, stores.clickhouse, request, Date.now() * 1000)).toEqual({
    unknown: [],
    gone: true,
  });
  expect(await idsOf("moved")).toHaveLength(3);
});

test("ids of another project are not split", async () => {
  await merged("ours");
  const made = await ask(server(), "POST", "/api/projects/", { name: "Other" });
  const theirs = Number(made.body["id"]);
  const request = { project_id: theirs, main_id: "ours", distinct_ids: undefined };
  await splitPerson(stores.sql, stores.clickhouse, request, Date.now() * 1000);
  const path = `/api/projects/${theirs}/persons/${ownPersonId(1, "ours")}/split/`;
  expect((await ask(server(), "POST", path, {})).status).toBe(404);
  expect(await idsOf("ours")).toHaveLength(3);
});

test("a merge that arrived before the split is undone however late it is applied, a later one stays", async () => {
  await merged("late");
  // A journal that is behind: the split is not done with before it has come this far.
  const [behind] =
    await stores.sql`INSERT INTO journals (name, created_at) VALUES ('behind the split', now() - interval '1 minute') RETURNING id`;
  const now = Date.now() * 1000;
  await splitPerson(
    stores.sql,
    stores.clickhouse,
    { project_id: 1, main_id: "late", distinct_ids: undefined },
    now,
  );
  expect(await idsOf("late")).toEqual(["late"]);
  const merge = (from: string, created_at: number) => ({
    project_id: 1,
    kind: mergeKind.identify,
    from,
    into: "late",
    at: created_at,
    created_at,
  });
  const merges = [merge("late-1", now - 1), merge("late-2", now + 1)];
  const { version } = await applyMerges(stores.sql, "behind", [merges], []);
  await mirrorMerges(stores.sql, stores.clickhouse, version);
  expect(await idsOf("late")).toEqual(["late", "late-1", "late-2"]);
  await stores.sql`DELETE FROM journals WHERE id = ${behind!["id"] as number}`;
  await until(async () => {
    await finishSplits(stores.sql, stores.clickhouse, Date.now() * 1000);
    const [open] = await stores.sql`SELECT 1 FROM person_splits`;
    return open === undefined;
  });
  expect(await stores.sql`SELECT 1 FROM person_split_ids`).toHaveLength(0);
  expect([await idsOf("late"), await idsOf("late-1")]).toEqual([["late", "late-2"], ["late-1"]]);
  // The mirror may be late, too: an older version changes nothing.
  await mirrorMerges(stores.sql, stores.clickhouse);
  expect(await idsOf("late-1")).toEqual(["late-1"]);
});

test("a split whose process was killed before ClickHouse had it is carried out by another", async () => {
  await merged("killed");
  const failing = {
    ...stores.clickhouse,
    insertNative: () => Promise.reject(new Error("killed")),
  };
  const request = { project_id: 1, main_id: "killed", distinct_ids: ["killed-1"] };
  const split = splitPerson(stores.sql, failing, request, Date.now() * 1000);
  await expect(split).rejects.toThrow("killed");
  await until(async () => {
    await finishSplits(stores.sql, stores.clickhouse, Date.now() * 1000);
    return (await idsOf("killed-1")).length === 1;
  });
  expect(await idsOf("killed")).toEqual(["killed", "killed-2"]);
});

test("a split changes its persons for exports", async () => {
  await merged("exported");
  const changed = async () => {
    const rows = await stores.clickhouse.query<{
      distinct_id: string;
      at: string;
      person_id: string;
      version: string;
    }>(
      `SELECT distinct_id, toUnixTimestamp64Micro(_inserted_at) AS at, person_id,
         person_distinct_id_version AS version FROM exported_persons
       WHERE project_id = 1 AND startsWith(distinct_id, 'exported') ORDER BY distinct_id`,
    );
    return rows.map((row) => [row.distinct_id, Number(row.at), row.person_id, Number(row.version)] as const);
  };
  const before = await changed();
  await splitOf("exported", { distinct_ids_to_split: ["exported-1"] });
  const after = await changed();
  expect(after.map(([id, , person_id]) => [id, person_id])).toEqual([
    ["exported", ownPersonId(1, "exported")],
    ["exported-1", ownPersonId(1, "exported-1")],
    ["exported-2", ownPersonId(1, "exported")],
  ]);
  for (const [i, [, at]] of after.entries()) expect(at).toBeGreaterThan(before[i]![1]);
  // Receivers keep the row of the highest version: whoever has another person now has a higher one, and again when merged.
  const versions = (rows: typeof after) => rows.map(([, , , version]) => version);
  const [main, split, other] = versions(before) as [number, number, number];
  expect(versions(after)).toEqual([main, expect.any(Number) as number, other]);
  expect(versions(after)[1]).toBeGreaterThan(split);
  const { clickhouse } = stores;
  await clickhouse.command(`OPTIMIZE TABLE ${clickhouse.tables.local("merged_ids")} FINAL`);
  // Once every journal has passed the split it is carried out again, with a version that is higher still.
  const kept = versions(await changed());
  expect(kept).toEqual([main, expect.any(Number) as number, other]);
  expect(kept[1]).toBeGreaterThanOrEqual(versions(after)[1]!);
});
