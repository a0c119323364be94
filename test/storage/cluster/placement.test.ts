// What statements name on one machine and on a cluster, and the settings that a cluster's client adds.

import { expect, test } from "bun:test";
import type { ClickHouse, QueryOptions } from "../../../src/storage/clickhouse/clickhouse.ts";
import { ownTables } from "../../../src/storage/clickhouse/statement.ts";
import { openClusterClient } from "../../../src/storage/cluster/cluster_client.ts";
import { clusterTables } from "../../../src/storage/cluster/placement.ts";

const tables = clusterTables({ name: "main", database: "sluice" });

test("one machine has tables of its own only", () => {
  expect(`DELETE FROM ${ownTables.local("seen")} WHERE a`).toBe("DELETE FROM `seen` WHERE a");
  expect(`KILL QUERY${ownTables.onAll} WHERE a`).toBe("KILL QUERY WHERE a");
  expect(ownTables.system("parts")).toBe("system.parts");
});

test("what changes rows or tables reaches all shards", () => {
  expect(tables.local("seen")).toBe("`seen_local` ON CLUSTER 'main'");
  expect(tables.local("merged_ids")).toBe("`merged_ids` ON CLUSTER 'main'");
  expect(tables.local("seen_of_events")).toBe("`seen_of_events` ON CLUSTER 'main'");
  // As system.tables names it.
  expect(tables.local("seen_local")).toBe("`seen_local` ON CLUSTER 'main'");
  expect(`KILL QUERY${tables.onAll} WHERE a`).toBe("KILL QUERY ON CLUSTER 'main' WHERE a");
});

test("system tables are those of all servers, with the names of tables that statements know", () => {
  const table = "* REPLACE (replaceRegexpOne(table, '_local$', '') AS table)";
  expect(tables.system("parts")).toBe(`(SELECT ${table} FROM cluster('main', system.parts))`);
  expect(tables.system("mutations")).toBe(
    `(SELECT ${table} FROM clusterAllReplicas('main', system.mutations))`,
  );
  expect(tables.system("disks")).toContain("clusterAllReplicas('main', system.disks)");
});

test("a statement is sent as it is written, with settings; those of its caller win", async () => {
  const sent: [string, QueryOptions["settings"]][] = [];
  const note = async (text: string, _params: unknown, options: QueryOptions = {}): Promise<never[]> => {
    sent.push([text, options.settings]);
    return [];
  };
  const played = { query: note, command: note } as unknown as ClickHouse;
  const client = openClusterClient(played, { name: "main", database: "sluice" });
  await client.query("SELECT 1", undefined, { settings: { load_balancing: "random" } });
  await client.query("SELECT 2", undefined, { kind: "flush" });
  await client.command("DELETE FROM t", undefined, { timeoutMs: 1500 });
  const reading = { prefer_localhost_replica: 0, skip_unavailable_shards: 0 };
  expect(sent).toMatchObject([
    ["SELECT 1", { ...reading, load_balancing: "random" }],
    ["SELECT 2", { ...reading, load_balancing: "in_order", select_sequential_consistency: 1 }],
    ["DELETE FROM t", { ...reading, distributed_foreground_insert: 1, distributed_ddl_task_timeout: 2 }],
  ]);
});
