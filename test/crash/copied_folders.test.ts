// What a server says of folders that operators have copied, and of stores that new settings leave behind.

import { beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync } from "node:fs";
import { readJournalIdentity } from "../../src/capture/journal/identity/journal_identity.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { type Lender, openLender } from "../support/remote.ts";
import { post, projectKey, rested, runSluice, startServer, until } from "../support/server.ts";
import { postAnew, serving, waitingIn } from "../support/workers.ts";

cleanUpEach();

let lender: Lender;
beforeAll(async () => {
  lender = await openLender();
});

test("a copy of a whole DATA_DIR runs beside its original, and on remote stores once that is confirmed", async () => {
  const first = await startServer();
  const body = { api_key: projectKey, event: "e", distinct_id: "d" };
  expect((await post(first, "/capture/", body)).status).toBe(200);
  await rested(first);
  expect(await first.end("SIGTERM")).toBe(0);
  const copy = `${makeFolder()}/copy`;
  cpSync(first.dataDir, copy, { recursive: true });
  const logged = async (environment: Record<string, string>) => {
    const server = await startServer(environment, copy);
    expect((await post(server, "/capture/", body)).status).toBe(200);
    await rested(server);
    expect(await server.end("SIGTERM")).toBe(0);
    return server.logged();
  };
  const original = await startServer({}, first.dataDir);
  expect(await logged({})).not.toMatch(/is a copy|damaged|another journal/);
  expect(await original.end("SIGTERM")).toBe(0);
  const remote = await lender.lend("left_behind");
  expect(await runSluice(["journal", "adopt"], { ...remote, DATA_DIR: copy })).toMatchObject({ exitCode: 0 });
  expect(await logged(remote)).not.toMatch(/is a copy|damaged|another journal/);
});

test("what waits with workers is kept when the database is another one, and none of them starts with it", async () => {
  const [home, away] = [await lender.lend("crew_home"), await lender.lend("crew_away")];
  const server = await startServer({ ...home, WORKERS: "3", FLUSH_INTERVAL_MS: "3600000" });
  const { dataDir } = server;
  await serving(server, 3);
  const folders = [`${dataDir}/journal`, `${dataDir}/workers/2/journal`, `${dataDir}/workers/3/journal`];
  let sent = 0;
  await until(async () => {
    const body = { api_key: projectKey, event: "e", distinct_id: "d" };
    expect((await postAnew(server, "/capture/", body)).status).toBe(200);
    sent++;
    return folders.every((folder) => waitingIn(folder).length > 0);
  });
  await server.end("SIGKILL");
  const refused = startServer({ ...away, WORKERS: "3" }, dataDir);
  await expect(refused).rejects.toThrow("this Postgres is another one");
  const back = await startServer({ ...home, WORKERS: "3" }, dataDir);
  await rested(back);
  expect(await back.end("SIGTERM")).toBe(0);
  expect(await runSluice(["journal", "adopt"], { ...away, DATA_DIR: dataDir })).toMatchObject({
    exitCode: 0,
  });
  const moved = await startServer({ ...away, WORKERS: "3" }, dataDir);
  await serving(moved, 3);
  const numbers = folders.map((folder) => readJournalIdentity(folder)?.number);
  expect(new Set(numbers).size).toBe(3);
  const rows = await lender.stores.clickhouse.query<{ n: string }>(
    "SELECT count() AS n FROM crew_home.events",
  );
  expect(rows).toEqual([{ n: String(sent) }]);
  expect(existsSync(`${dataDir}/workers/3/journal/identity.json`)).toBe(true);
});
