// The grants that scaling.md gives the user of a remote ClickHouse: with them everything is answered, queries in SQL too.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startMsMax } from "../../support/accounts.ts";
import { startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { post, rested } from "../../support/server.ts";
import { openMadeStores, startFront } from "../../support/stores.ts";

afterAll(cleanUp, startMsMax);

const page = readFileSync(join(import.meta.dir, "../../../src/docs/scaling.md"), "utf8");
const grants = [...page.matchAll(/^(GRANT .+) TO sluice;$/gm)].map(([, grant = ""]) => grant);

/** A ClickHouse whose user has these grants, and nothing else. */
async function startGranted(granted: readonly string[]): Promise<string> {
  const dataDir = await makeStoresFolder(["clickhouse"]);
  const users = join(dataDir, "users.xml");
  const queries = granted.map((grant) => `<query>${grant}</query>`).join("");
  const user = `<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>`;
  writeFileSync(
    users,
    `<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
     ${user}<grants>${queries}</grants></default></users></clickhouse>`,
  );
  mkdirSync(join(dataDir, "clickhouse.d"));
  const directories = `<user_directories><users_xml><path>${users}</path></users_xml></user_directories>`;
  writeFileSync(join(dataDir, "clickhouse.d", "users.xml"), `<clickhouse>${directories}</clickhouse>`);
  return (await startFront(dataDir)).url;
}

async function answersOf(granted: readonly string[]) {
  const app = await startApp({ CLICKHOUSE_URL: await startGranted(granted) });
  const event = { event: "seen", distinct_id: "a", properties: { plan: "pro", $set: { plan: "pro" } } };
  await post({ url: app.url }, "/batch/", { api_key: "phc_test_project_key_0123456789", batch: [event] });
  await rested({ url: app.url });
  const query = {
    kind: "HogQLQuery",
    query: "select event, properties.plan, person.properties.plan from events",
  };
  return await ask({ url: app.url } as never, "POST", "/api/projects/1/query/", { query });
}

test("a user with the grants of the page captures, and is answered in SQL", async () => {
  expect(grants.length).toBeGreaterThan(3);
  const { status, body, text } = await answersOf(grants);
  expect([status, body["results"], text]).toEqual([200, [["seen", "pro", "pro"]], text]);
}, 300_000);

test("a user that may not read is refused at the start, by the grant it lacks", async () => {
  const blind = grants.map((grant) => grant.replace("GRANT SELECT, ", "GRANT "));
  const url = await startGranted(blind);
  expect(startApp({ CLICKHOUSE_URL: url })).rejects.toThrow(/the grant SELECT.* on sluice\./i);
}, 300_000);

test("what it may not read fails no other question, and says nothing of the store", async () => {
  const [all = "", ...others] = grants;
  const { clickhouse } = await openMadeStores();
  const tables = await clickhouse.query<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name != 'groups'",
  );
  const names = ["store_identity", ...tables.map(({ name }) => name)];
  const reading = names.map((name) => `GRANT SELECT ON sluice.\`${name}\``);
  const narrow = [all.replace("GRANT SELECT, ", "GRANT "), ...others, ...reading];
  const second = await startApp({ CLICKHOUSE_URL: await startGranted(narrow) });
  const run = async (query: string) => {
    const body = { query: { kind: "HogQLQuery", query } };
    const { status, text } = await ask({ url: second.url } as never, "POST", "/api/projects/1/query/", body);
    return [status, text];
  };
  const [refused, said] = await run("select key from groups");
  expect([refused, /sluice|privilege|select/i.test(String(said))]).toEqual([503, false]);
  expect(await run("select count() from events")).toEqual([200, expect.any(String)]);
}, 300_000);
