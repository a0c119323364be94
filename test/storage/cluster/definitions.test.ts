import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { splitStatements } from "../../../src/storage/clickhouse/statement.ts";
import { onCluster } from "../../../src/storage/cluster/definitions.ts";
import { isSharded, tables, views } from "../../../src/storage/cluster/placement.ts";

const cluster = { name: "main", database: "sluice" };
const of = (statement: string): string[] => onCluster(statement, cluster).map(oneLine);

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

const folder = resolve(import.meta.dir, "../../../sql/clickhouse");
const statements = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .toSorted()
  .flatMap((name) => splitStatements(readFileSync(join(folder, name), "utf8")));

/** Names behind CREATE … of the files. */
function defined(kind: RegExp): string[] {
  return statements.flatMap((text) => kind.exec(text.replaceAll(/--[^\n]*/g, "").trim())?.[1] ?? []);
}

describe("every statement of sql/clickhouse", () => {
  test("is defined on all servers, and can be repeated", () => {
    // Rows of older events are inserted by way of the tables in front, and change nothing the second time.
    const made = statements.filter((text) => !/(?:^|\n)INSERT INTO/.test(text));
    const rewritten = made.flatMap((statement) => onCluster(statement, cluster));
    expect(rewritten.filter((text) => !text.includes(" ON CLUSTER 'main'"))).toEqual([]);
    expect(rewritten.filter((text) => text.split(" ON CLUSTER ").length !== 2)).toEqual([]);
    const repeatable =
      /(?:^|\n)(?:CREATE OR REPLACE|CREATE .*IF NOT EXISTS|DROP TABLE IF EXISTS|ALTER TABLE)/;
    expect(rewritten.filter((text) => !repeatable.test(text))).toEqual([]);
  });

  test("makes no table that keeps rows without replicas", () => {
    const rewritten = statements.flatMap((statement) => onCluster(statement, cluster));
    const engines = rewritten.flatMap((text) => /\bENGINE = (\w+)/.exec(text)?.[1] ?? []);
    expect([...new Set(engines)].toSorted()).toEqual([
      "Distributed",
      "Null",
      "ReplicatedAggregatingMergeTree",
      "ReplicatedMergeTree",
      "ReplicatedReplacingMergeTree",
    ]);
  });

  test("is about tables and views with a known placement, and there is no other", () => {
    const made = new Set(defined(/^CREATE TABLE IF NOT EXISTS (\w+)/));
    // Made by migrate.ts and identity.ts.
    const others = ["schema_migrations", "store_identity"];
    expect([...made, ...others].toSorted()).toEqual(Object.keys(tables).toSorted());
    // A later file may define a view anew.
    const shown = new Set(defined(/^CREATE OR REPLACE VIEW (\w+)/));
    expect([...shown].toSorted()).toEqual(Object.keys(views).toSorted());
  });

  test("keeps its text but for names and engines", () => {
    for (const statement of statements) {
      const [own = ""] = onCluster(statement, cluster);
      const plain = own
        .replace(" ON CLUSTER 'main'", "")
        .replaceAll(/(\w+)_local\b/g, "$1")
        .replace(/Replicated(\w+)\('[^']*', '[^']*'\)/, "$1")
        .replace(/Replicated(\w+)\('[^']*', '[^']*', /, "$1(");
      expect(plain).toBe(statement);
    }
  });
});

test("a table of shards is a replicated one on each, and a Distributed one in front", () => {
  expect(
    of(
      "CREATE TABLE IF NOT EXISTS event_rows (a UInt8, INDEX b a TYPE minmax) ENGINE = ReplacingMergeTree(v) ORDER BY a",
    ),
  ).toEqual([
    "CREATE TABLE IF NOT EXISTS event_rows_local ON CLUSTER 'main' (a UInt8, INDEX b a TYPE minmax) " +
      "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/event_rows', '{replica}', v) ORDER BY a",
    "CREATE TABLE IF NOT EXISTS event_rows ON CLUSTER 'main' AS event_rows_local " +
      "ENGINE = Distributed('main', 'sluice', 'event_rows_local', cityHash64(project_id, distinct_id))",
  ]);
});

test("an engine without arguments gets those of its replicas", () => {
  const place = "'/clickhouse/tables/{shard}/{database}/seen', '{replica}'";
  const made = (engine: string) =>
    of(`CREATE TABLE IF NOT EXISTS seen (a UInt8) ENGINE = ${engine} ORDER BY (a)`)[0];
  expect(made("AggregatingMergeTree")).toContain(
    `ENGINE = ReplicatedAggregatingMergeTree(${place}) ORDER BY (a)`,
  );
  expect(made("AggregatingMergeTree()")).toContain(
    `ENGINE = ReplicatedAggregatingMergeTree(${place}) ORDER BY (a)`,
  );
  expect(
    of("CREATE TABLE IF NOT EXISTS deleting_ids (a UInt8) ENGINE = MergeTree ORDER BY (a)")[0],
  ).toContain(
    "ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/deleting_ids', '{replica}') ORDER BY (a)",
  );
});

test("a table that is everywhere is one set of replicas over all shards", () => {
  expect(
    of("CREATE TABLE IF NOT EXISTS merged_ids (a UInt8) ENGINE = ReplacingMergeTree(v, d) ORDER BY a"),
  ).toEqual([
    "CREATE TABLE IF NOT EXISTS merged_ids ON CLUSTER 'main' (a UInt8) ENGINE = " +
      "ReplicatedReplacingMergeTree('/clickhouse/tables/everywhere/{database}/merged_ids', '{shard}-{replica}', v, d) ORDER BY a",
  ]);
});

test("a feed is one for each shard, and one in front", () => {
  expect(of("CREATE TABLE IF NOT EXISTS event_feed (a UInt8) ENGINE = Null")).toEqual([
    "CREATE TABLE IF NOT EXISTS event_feed_local ON CLUSTER 'main' (a UInt8) ENGINE = Null",
    "CREATE TABLE IF NOT EXISTS event_feed ON CLUSTER 'main' AS event_feed_local " +
      "ENGINE = Distributed('main', 'sluice', 'event_feed_local', cityHash64(project_id, distinct_id))",
  ]);
});

test("a view that feeds a table from rows of a shard stays in it", () => {
  const made = of(
    `CREATE MATERIALIZED VIEW IF NOT EXISTS a TO seen AS
     SELECT x FROM event_feed AS e LEFT ANY JOIN (SELECT y FROM deleted_ids) AS d ON e.x = d.y ARRAY JOIN pk AS seen`,
  );
  expect(made).toEqual([
    "CREATE MATERIALIZED VIEW IF NOT EXISTS a ON CLUSTER 'main' TO seen_local AS SELECT x FROM event_feed_local AS e " +
      "LEFT ANY JOIN (SELECT y FROM deleted_ids) AS d ON e.x = d.y ARRAY JOIN pk AS seen",
  ]);
});

test("a view that feeds a table from rows of any shard writes through its Distributed table", () => {
  expect(of("CREATE MATERIALIZED VIEW IF NOT EXISTS a TO seen AS SELECT x FROM merged_ids")).toEqual([
    "CREATE MATERIALIZED VIEW IF NOT EXISTS a ON CLUSTER 'main' TO seen AS SELECT x FROM merged_ids",
  ]);
});

test("a view whose rows meet on a shard is one on each, with a Distributed table in front", () => {
  expect(
    of("CREATE OR REPLACE VIEW events AS SELECT x FROM event_rows AS e FINAL JOIN merged_ids AS m USING x"),
  ).toEqual([
    "CREATE OR REPLACE VIEW events_local ON CLUSTER 'main' AS " +
      "SELECT x FROM event_rows_local AS e FINAL JOIN merged_ids AS m USING x",
    "CREATE OR REPLACE TABLE events ON CLUSTER 'main' AS events_local " +
      "ENGINE = Distributed('main', 'sluice', 'events_local')",
  ]);
});

test("a view over several shards reads Distributed tables", () => {
  expect(of("CREATE OR REPLACE VIEW persons AS SELECT x FROM seen")).toEqual([
    "CREATE OR REPLACE VIEW persons ON CLUSTER 'main' AS SELECT x FROM seen",
  ]);
});

test("what is dropped goes from the front first", () => {
  expect(of("DROP TABLE IF EXISTS session_facts_of_events SYNC")).toEqual([
    "DROP TABLE IF EXISTS session_facts_of_events ON CLUSTER 'main' SYNC",
  ]);
  expect(of("DROP TABLE IF EXISTS seen SYNC")).toEqual([
    "DROP TABLE IF EXISTS seen ON CLUSTER 'main' SYNC",
    "DROP TABLE IF EXISTS seen_local ON CLUSTER 'main' SYNC",
  ]);
});

test("a changed table gets a new front with the columns that it has then", () => {
  expect(of("ALTER TABLE seen ADD COLUMN IF NOT EXISTS a UInt8 AFTER b")).toEqual([
    "ALTER TABLE seen_local ON CLUSTER 'main' ADD COLUMN IF NOT EXISTS a UInt8 AFTER b",
    "CREATE OR REPLACE TABLE seen ON CLUSTER 'main' AS seen_local " +
      "ENGINE = Distributed('main', 'sluice', 'seen_local', cityHash64(project_id, distinct_id))",
  ]);
  expect(of("ALTER TABLE merged_ids MODIFY TTL a")).toEqual([
    "ALTER TABLE merged_ids ON CLUSTER 'main' MODIFY TTL a",
  ]);
  expect(of("ALTER TABLE seen_of_events MODIFY QUERY SELECT a FROM event_feed")).toEqual([
    "ALTER TABLE seen_of_events ON CLUSTER 'main' MODIFY QUERY SELECT a FROM event_feed_local",
  ]);
});

test("what has no rule is refused", () => {
  const refusals: [string, string][] = [
    [
      "CREATE TABLE IF NOT EXISTS unknown (a UInt8) ENGINE = MergeTree ORDER BY a",
      "where rows of unknown lie",
    ],
    ["CREATE OR REPLACE VIEW unknown AS SELECT 1", "where the view unknown is read"],
    ["CREATE OR REPLACE VIEW events AS SELECT 1 FROM unknown", "does not know unknown"],
    ["CREATE TABLE seen (a UInt8) ENGINE = MergeTree ORDER BY a", "not repeatable"],
    ["DROP TABLE seen", "not repeatable"],
    ["CREATE TABLE IF NOT EXISTS seen (a UInt8) ENGINE = Log", "no replicated engine for Log"],
    ["RENAME TABLE a TO b", "no rule for a cluster"],
  ];
  for (const [statement, reason] of refusals) expect(() => of(statement)).toThrow(reason);
});

test("names of tables are distinguished from their shards'", () => {
  expect(Object.keys(tables).filter((name) => name.endsWith("_local"))).toEqual([]);
  expect(isSharded("events")).toBe(true);
  expect(isSharded("persons")).toBe(false);
  expect(isSharded("merged_ids")).toBe(false);
});
