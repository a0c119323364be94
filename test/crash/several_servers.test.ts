// Two servers on one Postgres and one ClickHouse, one of them killed again and again, and started as this version or as
// the next one: captures, imports, merges, sessions and an export come to what clients were told, and none of it twice.
// On a cluster of one shard with SLUICE_TEST_STORES=cluster.

import { expect, test } from "bun:test";
import { silentLog as log } from "../../src/core/log.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded/postgres.ts";
import { openStores, type Stores } from "../../src/storage/stores.ts";
import { readWatermarks } from "../../src/storage/watermark.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { killsOf } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { storesMode } from "../support/remote_clickhouse.ts";
import { s3Key, s3Secret, startS3 } from "../support/s3.ts";
import {
  metric,
  ownMain,
  post,
  projectKey,
  rested,
  type Server,
  type StartedServer,
  startServer,
  until,
} from "../support/server.ts";
import { startFront } from "../support/stores.ts";
import { makeNextVersion } from "../support/versions.ts";

cleanUpEach();

const kills = killsOf(4);
const secretKey = "a secret for tests";

let seed = 20;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
}

interface SentEvent {
  event: string;
  distinct_id: string;
  uuid: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

/** What clients sent; each batch until some server acknowledged it. */
interface Clients {
  events: Map<string, SentEvent>;
  acknowledged: number;
  end(): Promise<void>;
}

/** Twenty events of a person with three ids, whose session goes on in the next batch. */
function someEvents(client: string, batch: number): SentEvent[] {
  const person = `${client}-${batch >> 1}`;
  const historical = client.startsWith("import");
  return Array.from({ length: 20 }, (_, i) => {
    const at = historical
      ? Date.UTC(2021 + ((batch + i) % 3), 5, 1, 0, batch % 60, i)
      : Date.now() - i * 1000;
    const identifies = i === 0 || i === 10;
    return {
      event: identifies ? "$identify" : ["$pageview", "$autocapture", "kept"][i % 3]!,
      distinct_id: person,
      uuid: crypto.randomUUID(),
      timestamp: new Date(at).toISOString(),
      properties: {
        $session_id: `s-${person}`,
        ...(identifies && { $anon_distinct_id: `anonymous-${client}-${batch}-${i}` }),
        // One id that everybody claims: whoever comes first has it, for both servers.
        ...(i === 0 && batch % 5 === 0 && { $anon_distinct_id: `wanted-${batch}` }),
        $set: { [`k${i % 3}`]: batch * 100 + i },
      },
    };
  });
}

function startClients(servers: readonly Server[], names: readonly string[]): Clients {
  const clients: Clients = { events: new Map(), acknowledged: 0, end: async () => {} };
  let ended = false;
  const deliver = async (batch: SentEvent[], historical_migration: boolean) => {
    const body = JSON.stringify({ api_key: projectKey, historical_migration, batch });
    for (let to = random(2), tries = 0; ; to = 1 - to, tries++) {
      try {
        const reply = await post(servers[to]!, "/batch/", body);
        await reply.arrayBuffer();
        if (reply.status === 200) return;
      } catch {
        // It was killed before it answered: the same body goes to the other one.
      }
      if (tries > 0) await Bun.sleep(5);
    }
  };
  const run = async (client: string) => {
    for (let batch = 0; !ended; batch++) {
      const events = someEvents(client, batch);
      for (const event of events) clients.events.set(event.uuid, event);
      await deliver(events, client.startsWith("import"));
      clients.acknowledged += events.length;
    }
  };
  const running = Promise.all(names.map(run));
  clients.end = async () => {
    ended = true;
    await running;
  };
  later(clients.end);
  return clients;
}

async function more(clients: Clients, events: number): Promise<void> {
  const goal = clients.acknowledged + events;
  await until(() => Promise.resolve(clients.acknowledged >= goal));
}

/** A ClickHouse that is not embedded; on a cluster, a proxy stands for all its servers. */
async function startRemote(): Promise<{ clickhouseUrl: string; clickhouseCluster?: string }> {
  if (storesMode !== "cluster") return { clickhouseUrl: (await startFront()).url };
  const { clusterName, startClusterFront } = await import("../support/cluster.ts");
  return { clickhouseUrl: (await startClusterFront()).url, clickhouseCluster: clusterName };
}

async function openShared(): Promise<{ stores: Stores; environment: Record<string, string> }> {
  const postgres = await startEmbeddedPostgres({ dataDir: await makeStoresFolder(["postgres"]), log });
  later(() => postgres.stop());
  const remote = await startRemote();
  const urls = { databaseUrl: postgres.url, ...remote };
  const stores = await openStores({ dataDir: makeFolder(), ...urls, requireReachable: true, log });
  later(() => stores.close());
  const environment = {
    DATABASE_URL: urls.databaseUrl,
    CLICKHOUSE_URL: remote.clickhouseUrl,
    ...(remote.clickhouseCluster && { CLICKHOUSE_CLUSTER: remote.clickhouseCluster }),
    SECRET_KEY: secretKey,
    ALLOW_PRIVATE_DESTINATIONS: "1",
    FLUSH_INTERVAL_MS: "50",
  };
  return { stores, environment };
}

interface Compared {
  lost: number;
  doubled: number;
  unknown: number;
}

const nothingWrong: Compared = { lost: 0, doubled: 0, unknown: 0 };

/** What was found of what was acknowledged, by uuids. */
function compare(found: readonly string[], sent: Clients["events"]): Compared {
  const distinct = new Set(found);
  return {
    lost: [...sent.keys()].filter((uuid) => !distinct.has(uuid)).length,
    doubled: found.length - distinct.size,
    unknown: [...distinct].filter((uuid) => !sent.has(uuid)).length,
  };
}

async function storedEvents({ clickhouse }: Stores): Promise<string[]> {
  return (await clickhouse.query<{ uuid: string }>("SELECT uuid FROM events")).map(({ uuid }) => uuid);
}

/** The events in all files of the export. */
function exportedEvents(s3: Awaited<ReturnType<typeof startS3>>): string[] {
  const lines = s3
    .keys("exports")
    .flatMap((key) => new TextDecoder().decode(s3.read("exports", key)).trimEnd().split("\n"))
    .filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { uuid: string }).uuid);
}

/** A session has each of its events once, whichever servers took them. */
async function checkSessions({ clickhouse }: Stores, sent: Clients["events"]): Promise<void> {
  const rows = await clickhouse.query<Record<string, unknown>>(
    `SELECT session_id, toInt32(event_count) AS events, toInt32(pageview_count) AS pageviews,
       toUnixTimestamp64Milli(start_time)::Float64 AS start, toUnixTimestamp64Milli(end_time)::Float64 AS end
     FROM sessions WHERE project_id = 1 ORDER BY session_id`,
  );
  const sessions = Map.groupBy(sent.values(), ({ properties }) => String(properties["$session_id"]));
  const expected = [...sessions].map(([session_id, events]) => {
    const moments = events.map(({ timestamp }) => Date.parse(timestamp));
    return {
      session_id,
      events: events.length,
      pageviews: events.filter(({ event }) => event === "$pageview").length,
      start: Math.min(...moments),
      end: Math.max(...moments),
    };
  });
  expect(rows).toEqual(expected.toSorted((one, other) => (one.session_id < other.session_id ? -1 : 1)));
}

/** Every id that only one person claimed is that person's; a wanted one is one claimant's, and both stores agree. */
async function checkPersons({ sql, clickhouse }: Stores, sent: Clients["events"]): Promise<void> {
  const claims = [...sent.values()].filter(({ event }) => event === "$identify");
  const wrong = async () => {
    const ids = await clickhouse.query<{ id: string; person: string }>(
      "SELECT distinct_id AS id, toString(person_id) AS person FROM person_distinct_ids WHERE project_id = 1",
    );
    const persons = new Map(ids.map(({ id, person }) => [id, person]));
    const claimants = Map.groupBy(claims, ({ properties }) => String(properties["$anon_distinct_id"]));
    return [...claimants].filter(([id, by]) => {
      const owner = persons.get(id);
      return owner === undefined || !by.some(({ distinct_id }) => persons.get(distinct_id) === owner);
    });
  };
  await until(async () => {
    const [open] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM merge_segments`;
    return open!.n === 0 && (await wrong()).length === 0;
  });
  const ours = await sql<{ id: string; main: string }[]>`
    SELECT distinct_id AS id, main_id AS main FROM merged_ids WHERE project_id = 1 ORDER BY distinct_id`;
  const theirs = await clickhouse.query(
    "SELECT distinct_id AS id, main_id AS main FROM merged_ids FINAL WHERE project_id = 1 ORDER BY id",
  );
  expect(theirs).toEqual([...ours]);
}

async function checkWatermarks({ sql }: Stores, after: number): Promise<void> {
  await until(async () => (await readWatermarks(sql, Date.now())).through > after);
  expect((await readWatermarks(sql, Date.now())).unseen).toEqual([]);
}

/** The next version was on the stores for long, so that this one has started beside what it does not know. */
function checkVersions(servers: readonly StartedServer[], starts: readonly number[]): void {
  expect(starts[1]).toBeGreaterThan(0);
  for (const server of servers)
    expect(server.logged()).not.toContain("a migration is incompatible with running older servers");
}

test(
  "two servers lose and double nothing while one of them is killed at any moment and comes back as another version",
  async () => {
    const s3 = await startS3("exports");
    const { stores, environment } = await openShared();
    const begun = new Date();
    const folders = [makeFolder(), makeFolder()];
    const newer = makeNextVersion(true);
    const servers = await Promise.all(folders.map((folder) => startServer(environment, folder)));
    /** How often a server came back as this version, and as the next one. */
    const starts = [0, 0];
    const exported = await makeExport(
      stores,
      { dataDir: "", secretKey },
      {
        type: "S3",
        config: { bucket_name: "exports", region: "us-east-1", prefix: "all", endpoint_url: s3.url },
        secrets: { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret },
        interval: "every 1 minutes",
        paused: true,
      },
    );
    let from = begun;
    let backfills = 0;
    const exportSoFar = async () => {
      const range = { start: from, end: new Date() };
      await makeBackfill(stores, exported, "every 1440 minutes", range);
      from = range.end;
      backfills++;
    };
    const clients = startClients(servers, ["live-1", "live-2", "import-1"]);
    for (let round = 0; round < kills; round++) {
      await more(clients, 200 + random(600));
      if (round % 3 === 0) await exportSoFar();
      await Bun.sleep(random(60));
      const victim = random(2);
      await servers[victim]!.end("SIGKILL");
      // The other one serves.
      await more(clients, 100 + random(200));
      // The next version first, so that even a short run has both.
      const version = round === 0 ? 1 : random(2);
      servers[victim] = await startServer(environment, folders[victim], [ownMain, newer][version]);
      starts[version]!++;
    }
    await more(clients, 300);
    await clients.end();
    for (const server of servers) await rested(server);
    expect(await Promise.all(servers.map((one) => metric(one, "sluice_journal_damaged_total")))).toEqual([
      0, 0,
    ]);
    const ended = Date.now();
    await Bun.sleep(1);
    await exportSoFar();
    const runs = await endedRuns(stores, exported, backfills);
    const stored = compare(await storedEvents(stores), clients.events);
    const uuids = exportedEvents(s3);
    const inExport = compare(uuids, clients.events);
    const acknowledged = clients.events.size;
    const figures = { storesMode, kills, starts, acknowledged, stored, exported: uuids.length, inExport };
    console.log(JSON.stringify(figures));
    expect(acknowledged).toBe(clients.acknowledged);
    expect(stored).toEqual(nothingWrong);
    await checkSessions(stores, clients.events);
    await checkPersons(stores, clients.events);
    await checkWatermarks(stores, ended);
    expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["Completed"]));
    expect(inExport).toEqual(nothingWrong);
    checkVersions(servers, starts);
    for (const server of servers) expect(await server.end("SIGTERM")).toBe(0);
  },
  600_000 + kills * 120_000,
);
