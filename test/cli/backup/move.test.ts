// Moving to remote stores, as src/docs/backup.md says: what the server shows afterwards is what it showed before.

import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUpEach } from "../../support/cleanup.ts";
import { readEvents } from "../../support/events.ts";
import { type Lender, openLender } from "../../support/remote.ts";
import { rested, runSluice, startServer, until } from "../../support/server.ts";
import { fillProject, recordFrom, shownBy } from "../../support/shown.ts";

cleanUpEach();

let lender: Lender;
beforeAll(async () => {
  lender = await openLender();
});

test("a server that was moved to remote stores shows what it showed, and stores what waited in its journal", async () => {
  const first = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await recordFrom(first);
  await fillProject(first, "early");
  await rested(first);
  expect(await first.end("SIGTERM")).toBe(0);
  const { dataDir } = first;
  const again = await startServer({}, dataDir);
  const before = await shownBy(again);
  expect(await again.end("SIGTERM")).toBe(0);
  // Some events wait in the journal, as after a kill.
  const killed = await startServer({ FLUSH_INTERVAL_MS: "3600000" }, dataDir);
  await fillProject(killed, "waiting");
  await killed.end("SIGKILL");

  const remote = {
    ...(await lender.lend("moved_to")),
    SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim(),
  };
  const moved = await runSluice(["move"], { ...remote, DATA_DIR: dataDir });
  expect(moved).toMatchObject({ exitCode: 0, stderr: "" });
  expect(moved.stdout).toMatch(/^moved [\d,]+ rows of ClickHouse, and all of Postgres\n$/);
  // Once is enough.
  const twice = await runSluice(["move"], { ...remote, DATA_DIR: dataDir });
  expect(twice).toMatchObject({ exitCode: 1, stdout: "" });
  expect(twice.stderr).toContain("the Postgres of DATABASE_URL has accounts already");

  const server = await startServer(remote, dataDir);
  await rested(server);
  await until(async () => (await readEvents(server, { distinct_id: "waiting 1" })).length === 1);
  const elsewhere = await shownBy(server);
  const own = (shown: Record<string, unknown>) =>
    JSON.parse(JSON.stringify(shown)) as Record<string, unknown>;
  const early = own(before);
  const kept = JSON.stringify(own(elsewhere));
  const events = (early["/api/projects/1/events/?limit=1000"] as { results: { uuid: string }[] }).results;
  expect(events.length).toBeGreaterThan(30);
  expect(events.filter(({ uuid }) => !kept.includes(uuid))).toEqual([]);
  for (const path of ["/api/projects/", "/api/personal_api_keys/"])
    expect(elsewhere[path]).toEqual(before[path]);
  expect(elsewhere["snapshots"]).not.toBe("");
  const persons = (shown: Record<string, unknown>) =>
    (shown["/api/projects/1/persons/"] as { results: { distinct_ids: string[] }[] }).results;
  expect(persons(elsewhere)).toEqual(expect.arrayContaining(persons(before)));
});

test("a move needs both addresses, and a ClickHouse without rows", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const { dataDir } = server;
  const remote = await lender.lend("not_empty");
  const running = await runSluice(["move"], { ...remote, DATA_DIR: dataDir });
  expect(running.stderr).toContain(`DATA_DIR ${dataDir} is in use by process ${server.pid}`);
  await server.end("SIGTERM");
  const without = await runSluice(["move"], { DATA_DIR: dataDir });
  expect(without.stderr).toBe("sluice move: set DATABASE_URL and CLICKHOUSE_URL to the stores to move to\n");
  await runSluice(["migrate"], remote);
  await lender.stores.clickhouse.command(
    `INSERT INTO not_empty.event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'there', 'd', '{}', now(), now()`,
  );
  const refused = await runSluice(["move"], { ...remote, DATA_DIR: dataDir });
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toContain("the ClickHouse database not_empty is not empty (");
});
