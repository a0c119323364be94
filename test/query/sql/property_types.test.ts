// Properties in SQL have the types of the project's definitions.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";
import { storeEvents } from "../naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const at = Date.UTC(2024, 2, 30, 12);
  const texts = [
    { price: 9, plan: "10", is_new: true, at: "2024-03-30 10:00:00", "a name": 9 },
    { price: 10, plan: "9", is_new: false, at: "2024-03-30 09:00:00", "a name": 10 },
    { price: "none", plan: "8", at: 1_711_800_000, "a name": 100 },
  ];
  const events = texts.map((properties, i) => ({
    uuid: `00000000-0000-4000-8000-00000000000${i}`,
    event: "seen",
    distinct_id: "ann",
    at: at + i,
    properties,
  }));
  await storeEvents(stores, 1, events);
  await define(1, 1, "", {
    price: "Numeric",
    is_new: "Boolean",
    at: "DateTime",
    plan: "String",
    "a name": "Numeric",
  });
  // What others have is of no matter: another project, persons, groups whose types disagree.
  await define(2, 1, "", { plan: "Numeric" });
  await define(1, 2, "", { plan: "Numeric" });
  await define(1, 3, "team", { size: "Numeric" });
  await define(1, 3, "company", { size: "String" });
}, startMsMax);

async function define(project_id: number, kind: number, group_type: string, types: Record<string, string>) {
  for (const [name, type] of Object.entries(types)) {
    await stores.clickhouse.command(
      `INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
       SELECT {project_id:UInt32}, {kind:UInt8}, {group_type:String}, {name:String}, now64(6),
         concat('2024-01-01 00:00:00.0', {type:String})`,
      { project_id, kind, group_type, name, type },
    );
  }
}

async function run(query: string): Promise<Record<string, unknown>> {
  const { body } = await ask(app, "POST", "/api/projects/1/query/", { query: { kind: "HogQLQuery", query } });
  return body;
}

test("numbers are ordered, compared and given as numbers", async () => {
  const body = await run("select properties.price as p from events order by p desc");
  expect(body["results"]).toEqual([[10], [9], [null]]);
  expect(body["types"]).toEqual([["p", "Nullable(Float64)"]]);
  const compared = await run("select count() from events where properties.price > '9'");
  expect(compared["results"]).toEqual([[1]]);
  const bracketed = await run("select max(properties['a name']) from events");
  expect(bracketed["results"]).toEqual([[100]]);
  const within = await run("select max(p) from (select properties.price as p from events)");
  expect(within["results"]).toEqual([[10]]);
});

test("truths and moments are such", async () => {
  const body = await run(
    "select properties.is_new, toHour(properties.at) from events order by properties.at",
  );
  expect(body["results"]).toEqual([
    [false, 9],
    [true, 10],
    [null, 12],
  ]);
});

test("texts, and what has no type of this project's events, are texts", async () => {
  expect((await run("select properties.plan as p from events order by p"))["results"]).toEqual([
    ["10"],
    ["8"],
    ["9"],
  ]);
  const persons = await run(
    "select toTypeName(properties.plan), toTypeName(properties.price) from persons limit 1",
  );
  expect(persons["error"]).toBe(null);
  const groups = await run("select max(properties.size) from groups");
  expect(groups["types"]).toEqual([["max(properties.size)", "Nullable(String)"]]);
  const plans = await run("select max(properties.plan) from persons");
  expect(plans["types"]).toEqual([["max(properties.plan)", "Nullable(Float64)"]]);
});
