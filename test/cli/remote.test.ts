// Two servers on the same remote stores: started at once on empty ones, sharing keys and events.

import { expect, test } from "bun:test";
import { readJournalIdentity } from "../../src/capture/journal/identity/journal_identity.ts";
import { readConnection } from "../../src/storage/embedded/connection.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { post, projectKey, rested, runSluice, startServer, storesOf, until } from "../support/server.ts";

cleanUpEach();

test("two servers that start at once on empty stores make one set of accounts, and their events meet", async () => {
  const lender = await startServer();
  const stores = await storesOf(lender);
  await stores.sql`CREATE DATABASE shared`;
  const connection = readConnection(lender.dataDir);
  const remote = {
    DATABASE_URL: (connection?.database_url ?? "").replace(/\/\w+$/, "/shared"),
    CLICKHOUSE_URL: (connection?.clickhouse_url ?? "").replace(/\/\w+$/, "/shared"),
    SECRET_KEY: "a secret key for a test",
  };
  const [one, two] = await Promise.all([startServer(remote), startServer(remote)]);
  for (const server of [one, two]) {
    const batch = Array.from({ length: 20 }, (_, i) => ({ event: "met", distinct_id: `d${i}` }));
    expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
    await rested(server);
  }
  const counted = await stores.clickhouse.query<{ n: string; batches: string }>(
    `SELECT (SELECT count() FROM shared.events) AS n, (SELECT uniqExact(_batch) FROM shared.event_rows) AS batches`,
  );
  expect(counted).toEqual([{ n: "40", batches: "2" }]);
  const ids = await stores.clickhouse.query<{ id: string }>("SELECT id FROM shared.store_identity");
  expect(ids.length).toBe(1);
  for (const { dataDir } of [one, two])
    expect(readJournalIdentity(`${dataDir}/journal`)?.database).toBe(ids[0]!.id);
  const listed = await runSluice(["project", "list", "--json"], remote);
  expect(listed.stdout.trim().split("\n").length).toBe(1);
  const created = await runSluice(
    ["project", "create", "--name", "Second", "--api-key", "phc_second_project"],
    remote,
  );
  expect(created.exitCode).toBe(0);
  for (const server of [one, two]) {
    const reply = await post(server, "/capture/", {
      api_key: "phc_second_project",
      event: "e",
      distinct_id: "d",
    });
    expect(reply.status).toBe(200);
  }
  await runSluice(["migrate"], remote).then((ran) =>
    expect(ran.stdout).toBe("applied 0 to Postgres, 0 to ClickHouse\n"),
  );
  for (const server of [one, two]) await rested(server);
  await until(async () => {
    const rows = await stores.clickhouse.query<{ n: string }>("SELECT count() AS n FROM shared.events");
    return rows[0]?.n === "42";
  });
});
