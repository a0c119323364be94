import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { silentLog as log } from "../../../src/core/log.ts";
import { ClickHouseError, openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { splitStatements } from "../../../src/storage/clickhouse/statement.ts";
import { openClusterClient } from "../../../src/storage/cluster/cluster_client.ts";
import { lacksTables } from "../../../src/storage/cluster/cluster_migrations.ts";
import { onCluster } from "../../../src/storage/cluster/definitions.ts";
import { tables, views } from "../../../src/storage/cluster/placement.ts";
import { readClickHouseIds, readPostgresId } from "../../../src/storage/identity.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { knownMigrations, listPending, readMigrations } from "../../../src/storage/migrations/files.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { clusterName, openClusterStores, ownShard, startClusterFront } from "../../support/cluster.ts";
import { ownAnd } from "../../support/migrations.ts";

afterAll(cleanUp);

const folder = resolve(import.meta.dir, "../../../sql/clickhouse");
let stores: Awaited<ReturnType<typeof openClusterStores>>;
beforeAll(async () => {
  stores = await openClusterStores();
  // Two servers that start at once.
  await Promise.all([migrate(stores, { log }), migrate(stores, { log })]);
});

const engines = () =>
  stores.clickhouse.query<{ name: string; engine: string }>(
    "SELECT name, engine FROM system.tables WHERE database = currentDatabase()",
  );

describe("the tables of a cluster", () => {
  test("are there, as they are placed", async () => {
    const made = new Map((await engines()).map(({ name, engine }) => [name, engine]));
    for (const [name, { kind }] of Object.entries(tables)) {
      if (kind === "sharded") expect([name, made.get(name)]).toEqual([name, "Distributed"]);
      expect(made.has(kind === "sharded" ? `${name}_local` : name)).toBe(true);
    }
    for (const [name, kind] of Object.entries(views)) {
      expect(made.get(name)).toBe(kind === "shard" ? "Distributed" : "View");
    }
  });

  test("are made once, whoever starts next, and a start that has them sends nothing to all servers", async () => {
    const before = stores.cluster.everywhere.length;
    expect(await migrate(stores, { log })).toEqual({ postgres: 0, clickhouse: 0 });
    expect(stores.cluster.everywhere.length).toBe(before);
  });

  test("are made again where a server lacks one of them", () => {
    expect(
      lacksTables([
        ["a", "b"],
        ["b", "a"],
      ]),
    ).toBe(false);
    expect(lacksTables([["a", "b"], ["a"]])).toBe(true);
    expect(lacksTables([["a"], []])).toBe(true);
    expect(lacksTables([])).toBe(false);
  });

  test("are made again by the newest version only, as an older one would take back what that has replaced", async () => {
    const { sql, clickhouse, cluster } = await openClusterStores();
    const name = `${String(knownMigrations().clickhouse + 1).padStart(4, "0")}_more.sql`;
    const head = "-- Older servers: go on.\n-- Takes: a moment.\n";
    const more = `${head}CREATE OR REPLACE VIEW group_types AS SELECT 'newer' AS version;`;
    const newer = ownAnd({}, { [name]: more });
    await migrate({ sql, clickhouse }, { log, ...newer });
    /** As another server of the cluster without tables would make it look. */
    const lacking = {
      sql,
      clickhouse: {
        ...clickhouse,
        query: async (text: string, ...rest: never[]) => {
          const rows = await clickhouse.query(text, ...rest);
          return text.includes("system.tables)") ? [...rows, { names: [] }] : rows;
        },
      } as typeof clickhouse,
    };
    const before = cluster.everywhere.length;
    expect(await migrate(lacking, { log })).toEqual({ postgres: 0, clickhouse: 0 });
    expect(cluster.everywhere.length).toBe(before);
    const again = await migrate(lacking, { log, ...newer });
    const { clickhouse: own } = readMigrations();
    expect(again.clickhouse).toBe(listPending(own, [], "clickhouse").length + 1);
    expect(await clickhouse.query("SELECT version FROM group_types")).toEqual([{ version: "newer" }]);
  });

  test("have the id of their Postgres on every server, a rebuilt one too, and a server of others is refused", async () => {
    const { sql, clickhouse } = await openClusterStores();
    await migrate({ sql, clickhouse }, { log });
    const id = (await readPostgresId(sql))!;
    expect(await readClickHouseIds(clickhouse)).toEqual([id]);
    /** What the servers answer to a read of all of them. */
    const answering = (answer: (rows: unknown[]) => unknown[]) => ({
      sql,
      clickhouse: {
        ...clickhouse,
        query: async (text: string, ...rest: never[]) => {
          const rows = await clickhouse.query(text, ...rest);
          const isOfAll = text.includes("clusterAllReplicas") && text.includes("store_identity");
          return isOfAll ? answer(rows) : rows;
        },
      } as typeof clickhouse,
    });
    const others = answering((rows) => [...rows, { id: crypto.randomUUID() }]);
    await expect(migrate(others, { log })).rejects.toThrow("does not belong to this Postgres");
    const rebuilding = answering(() => {
      throw new ClickHouseError("no table on a server", "60", "UNKNOWN_TABLE");
    });
    expect(await readClickHouseIds(rebuilding.clickhouse)).toEqual([id]);
    await clickhouse.command("DROP TABLE store_identity SYNC");
    expect(await readClickHouseIds(clickhouse)).toEqual([]);
    await migrate({ sql, clickhouse }, { log });
    expect(await readClickHouseIds(clickhouse)).toEqual([id]);
  });

  test("can be defined once more by every file, and keep their rows", async () => {
    const { clickhouse } = stores;
    await clickhouse.command("INSERT INTO seen (project_id, distinct_id) SELECT 1, 'kept'");
    for (const name of readdirSync(folder).toSorted()) {
      for (const statement of splitStatements(readFileSync(join(folder, name), "utf8"))) {
        for (const one of onCluster(statement, clickhouse.cluster!)) await clickhouse.command(one);
      }
    }
    expect(await clickhouse.query("SELECT distinct_id FROM seen")).toEqual([{ distinct_id: "kept" }]);
  });

  test("can be defined by the engine with replicas, by every statement", async () => {
    const { url } = await startClusterFront({ replicated: true });
    const plain = openClickHouse(url);
    await plain.createDatabase();
    const cluster = { name: clusterName, database: plain.database };
    const client = openClusterClient(plain, cluster);
    for (const { name, text } of readMigrations().clickhouse.toSorted(
      (a, b) => +b.isBaseline - +a.isBaseline,
    )) {
      const statements = splitStatements(text);
      // What moves or reads rows is no definition, and these replicas take no rows.
      const definitions = statements.filter(
        (text) => !/^(?:--.*\n|\s)*(?:INSERT\b|ALTER TABLE \w+ MATERIALIZE\b)/.test(text),
      );
      const refused: string[] = [];
      for (const statement of definitions.flatMap((one) => onCluster(one, cluster))) {
        await client.command(statement).catch(({ type }: ClickHouseError) => refused.push(type));
      }
      // Nor changes of their tables, and views of columns that these would add.
      const isOfReadOnly = (type: string) => /^(?:TABLE_IS_READ_ONLY|UNKNOWN_IDENTIFIER)$/.test(type);
      expect([name, refused.filter((type) => !isOfReadOnly(type))]).toEqual([name, []]);
    }
    const made = await client.query<{ name: string; zookeeper_path: string }>(
      "SELECT table AS name, zookeeper_path FROM system.replicas WHERE database = currentDatabase()",
    );
    const path = new Map(made.map(({ name, zookeeper_path }) => [name, zookeeper_path]));
    expect(path.get("event_rows_local")).toBe("/clickhouse/tables/1/sluice/event_rows");
    expect(path.get("merged_ids")).toBe("/clickhouse/tables/everywhere/sluice/merged_ids");
    expect(path.size).toBeGreaterThanOrEqual(14);
  });
});

describe("a start on a cluster that cannot serve ends in one line", () => {
  const start = async (name: string, url: string): Promise<void> => {
    const plain = openClickHouse(url);
    const clickhouse = name === "" ? plain : openClusterClient(plain, { name, database: plain.database });
    await migrate({ sql: stores.sql, clickhouse }, { log });
  };

  test("where tables replicate by the cluster as well", async () => {
    const shards = ownShard.replace("<internal_replication>true</internal_replication>", "");
    const { url } = await startClusterFront({ shards });
    await expect(start(clusterName, url)).rejects.toThrow("internal_replication off");
  });

  test("where the tables were made for a cluster, and none is set", async () => {
    await expect(start("", stores.cluster.url)).rejects.toThrow("set CLICKHOUSE_CLUSTER to its name");
  });
});
