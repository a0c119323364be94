// kill -9 of the engine in the middle of an INSERT over many years: each year is a part of its own, so that some are
// stored and others not. Every event is stored once all the same, and so is what is derived from them.

import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { cleanUp } from "../support/cleanup.ts";
import { inLongForm } from "../support/kills.ts";
import { post, projectKey, rested, type Server, startServer, storesOf } from "../support/server.ts";

afterAll(cleanUp);

const years = 60;
const eventsEach = 1200;

function engineOf(server: Server): number {
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ");
  const engine = children.find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("chdb_server/server.ts"),
  );
  return Number(engine);
}

/** The parts of a table that are committed, as the folder shows them. */
function partsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => /^\d{4}_\d+_\d+_\d+/.test(name));
}

async function send(server: Server, round: number): Promise<void> {
  const batch = Array.from({ length: eventsEach }, (_, i) => ({
    event: "moved",
    distinct_id: `d${i % 50}`,
    uuid: crypto.randomUUID(),
    timestamp: new Date(Date.UTC(1960 + (i % years), i % 12, 3, 4, 5, 6, i % 1000)).toISOString(),
    properties: { $session_id: `session-${round}-${i % 7}`, $set: { [`set${round}`]: round } },
  }));
  const reply = await post(server, "/batch/", { api_key: projectKey, historical_migration: true, batch });
  expect(reply.status).toBe(200);
}

test("an engine killed between the years of an INSERT stores each event once", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const { clickhouse } = await storesOf(server);
  const told = await clickhouse.query<{ folder: string }>(
    "SELECT data_paths[1] AS folder FROM system.tables WHERE name = 'event_rows' AND database = currentDatabase()",
  );
  const folder = told[0]!.folder;
  // How many kills left some of the years.
  let between = 0;
  const kills = inLongForm([1, 12, 24, 36, 48], [1, 24, 48]);
  for (const [round, parts] of kills.entries()) {
    await clickhouse.command("SYSTEM STOP MERGES");
    const before = partsIn(folder).length;
    await send(server, round);
    while (partsIn(folder).length < before + parts) await Bun.sleep(0);
    process.kill(engineOf(server), "SIGKILL");
    if (partsIn(folder).length < before + years) between++;
    await rested(server);
  }
  // Otherwise nothing was tried.
  expect(between).toBeGreaterThan(0);
  const total = kills.length * eventsEach;
  // The rows as they rest: none is there twice and only hidden by what reads them.
  expect(await clickhouse.query("SELECT count() AS count, uniqExact(uuid) AS uuids FROM event_rows")).toEqual(
    [{ count: String(total), uuids: String(total) }],
  );
  expect(
    await clickhouse.query("SELECT sum(event_count) AS events, count() AS sessions FROM sessions"),
  ).toEqual([{ events: String(total), sessions: String(7 * kills.length) }]);
  expect(
    await clickhouse.query(
      `SELECT count() AS persons, groupUniqArray(length(JSONExtractKeys(properties))) AS keys FROM persons`,
    ),
  ).toEqual([{ persons: "50", keys: [String(kills.length)] }]);
  expect(await server.end("SIGTERM")).toBe(0);
});
