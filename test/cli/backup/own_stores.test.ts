// The backups of ClickHouse and Postgres themselves, with the statements that backup.md has for stores of one's own.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { readEvents } from "../../support/events.ts";
import { root, snippetsOf } from "../../support/readme.ts";
import { openLender } from "../../support/remote.ts";
import { s3Key, s3Secret, startS3 } from "../../support/s3.ts";
import { post, projectKey, rested, type StartedServer, startServer } from "../../support/server.ts";

afterAll(cleanUp);

/** The statements of the page, for this database and this bucket. */
function statementsFor(database: string, bucket: string): string[] {
  const page = readFileSync(join(root, "src/docs/backup.md"), "utf8");
  const { text } = snippetsOf(page).find(({ language }) => language === "sql")!;
  const own = text
    .replaceAll("DATABASE sluice ", `DATABASE ${database} `)
    .replaceAll("https://s3.example.com/backups", bucket)
    .replaceAll("'KEY', 'SECRET'", `'${s3Key}', '${s3Secret}'`);
  return own.split(";").filter((statement) => statement.trim() !== "");
}

/** An event with a person of its own. */
async function send(server: StartedServer, event: string): Promise<void> {
  const properties = { $set: { day: event } };
  const batch = [{ event, distinct_id: event, properties }];
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
}

async function findPersons(server: StartedServer): Promise<string[]> {
  const { body } = await ask(server, "GET", "/api/projects/1/persons/");
  return (body["results"] as { distinct_ids: string[] }[])
    .flatMap((person) => person.distinct_ids)
    .toSorted();
}

test("stores of one's own come back from their own copies, and only what came later is lost", async () => {
  const { stores, lend, allow } = await openLender();
  const { clickhouse, sql } = stores;
  const { url } = await startS3("copies");
  const [full, increment, restore] = statementsFor("own", `${url}/copies`);
  const remote = await lend("own");
  let server = await startServer(remote);
  const during = async (day: string, look?: () => Promise<void>) => {
    server = await startServer(remote, server.dataDir);
    await send(server, day);
    await look?.();
    await server.end("SIGTERM");
  };
  const restoreClickHouse = async () => {
    await clickhouse.command("DROP DATABASE own SYNC");
    await clickhouse.command(restore!);
  };
  await server.end("SIGTERM");
  await during("on monday");
  await clickhouse.command(full!);
  await during("on tuesday");
  await clickhouse.command(increment!);
  await sql`CREATE DATABASE copy TEMPLATE own`;
  await during("on wednesday");

  // ClickHouse alone: the persons of Wednesday are in Postgres, and not listed.
  await restoreClickHouse();
  await during("on thursday", async () => {
    expect(await findPersons(server)).toEqual(["on monday", "on thursday", "on tuesday"]);
  });
  await restoreClickHouse();
  await allow("own", false);
  await sql`DROP DATABASE own`;
  await sql`ALTER DATABASE copy RENAME TO own`;
  await during("on friday", async () => {
    const kept = ["on friday", "on monday", "on tuesday"];
    expect((await readEvents(server)).map(({ event }) => event).toSorted()).toEqual(kept);
    expect(await findPersons(server)).toEqual(kept);
  });
});
