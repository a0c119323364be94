import { describe, expect, test } from "bun:test";
import { portions } from "../../../src/storage/cluster/cluster_client.ts";
import {
  commandOnCluster,
  listedDeletionOf,
  listedText,
  readOnCluster,
} from "../../../src/storage/cluster/statements.ts";

const cluster = { name: "main", database: "sluice" };
const command = (text: string, params?: Record<string, unknown>) => commandOnCluster(text, params, cluster);
const read = (text: string) => readOnCluster(text, cluster);

describe("what changes rows or tables reaches all shards", () => {
  test("deletions", () => {
    expect(command("DELETE FROM seen WHERE a = 1")).toBe(
      "DELETE FROM seen_local ON CLUSTER 'main' WHERE a = 1",
    );
    expect(command("DELETE FROM event_rows IN PARTITION {year:UInt16} WHERE a = 1")).toBe(
      "DELETE FROM event_rows_local ON CLUSTER 'main' IN PARTITION {year:UInt16} WHERE a = 1",
    );
    expect(command("DELETE FROM merged_ids WHERE a = 1")).toBe(
      "DELETE FROM merged_ids ON CLUSTER 'main' WHERE a = 1",
    );
  });

  test("tables that a parameter names", () => {
    const text = "DELETE FROM {table:Identifier} WHERE a = {b:String}";
    expect(command(text, { table: "seen", b: "x" })).toBe(
      "DELETE FROM seen_local ON CLUSTER 'main' WHERE a = {b:String}",
    );
    expect(command(text, { table: "seen_local" })).toBe(
      "DELETE FROM seen_local ON CLUSTER 'main' WHERE a = {b:String}",
    );
  });

  test("partitions, and files without deleted rows", () => {
    expect(command("ALTER TABLE deleting_ids DROP PARTITION {attempt:UUID}")).toBe(
      "ALTER TABLE deleting_ids_local ON CLUSTER 'main' DROP PARTITION {attempt:UUID}",
    );
    expect(command("ALTER TABLE {table:Identifier} APPLY DELETED MASK", { table: "session_facts" })).toBe(
      "ALTER TABLE session_facts_local ON CLUSTER 'main' APPLY DELETED MASK",
    );
  });

  test("views that are taken off while rows are copied", () => {
    expect(command("DETACH TABLE {name:Identifier}", { name: "seen_of_events" })).toBe(
      "DETACH TABLE seen_of_events ON CLUSTER 'main'",
    );
  });

  test("statements that are killed", () => {
    expect(command("KILL QUERY WHERE a = 1 ASYNC")).toBe("KILL QUERY ON CLUSTER 'main' WHERE a = 1 ASYNC");
  });

  test("a definition that was made for all servers stays as it is", () => {
    const made = "ALTER TABLE seen_local ON CLUSTER 'main' ADD COLUMN a UInt8";
    expect(command(made)).toBe(made);
  });
});

describe("what reads", () => {
  test("names Distributed tables, so most statements stay as they are", () => {
    const plain = "SELECT a FROM events WHERE b IN {list:Array(String)} AND c IN (SELECT d FROM seen)";
    expect(read(plain)).toBe(plain);
    const inserted = "INSERT INTO event_feed (a) SELECT a FROM event_rows";
    expect(command(inserted)).toBe(inserted);
  });

  test("makes a list of several shards once", () => {
    expect(read("SELECT 1 FROM events WHERE a IN (SELECT b FROM persons WHERE c)")).toBe(
      "SELECT 1 FROM events WHERE a GLOBAL IN (SELECT b FROM persons WHERE c)",
    );
    expect(
      read("SELECT 1 FROM events WHERE a NOT IN (SELECT b FROM persons) AND c IN (SELECT 1 FROM seen)"),
    ).toBe(
      "SELECT 1 FROM events WHERE a GLOBAL NOT IN (SELECT b FROM persons) AND c IN (SELECT 1 FROM seen)",
    );
  });

  test("sees system tables of all servers, with the names of tables that it knows", () => {
    const table = "* REPLACE (replaceRegexpOne(table, '_local$', '') AS table)";
    expect(read("SELECT 1 FROM system.parts WHERE table = 'seen'")).toBe(
      `SELECT 1 FROM (SELECT ${table} FROM cluster('main', system.parts)) WHERE table = 'seen'`,
    );
    expect(read("SELECT 1 FROM system.mutations")).toBe(
      `SELECT 1 FROM (SELECT ${table} FROM clusterAllReplicas('main', system.mutations))`,
    );
    expect(read("SELECT name FROM system.tables")).toBe("SELECT name FROM system.tables");
  });
});

describe("a deletion of listed rows", () => {
  test("is two statements, as replicas carry out the second one later", () => {
    const listed =
      "DELETE FROM seen WHERE a = 1 AND lower(b) IN (SELECT c FROM deleting_ids WHERE d = {e:UUID}) AND f = 2";
    expect(listedDeletionOf(listed, cluster)).toEqual({
      select:
        "SELECT DISTINCT lower(b) AS listed FROM clusterAllReplicas('main', 'sluice', 'seen_local') WHERE a = 1 " +
        "AND lower(b) GLOBAL IN (SELECT c FROM deleting_ids WHERE d = {e:UUID}) AND f = 2 LIMIT {listed_rows:UInt64}",
      withValues:
        "DELETE FROM seen WHERE a = 1 AND lower(b) IN splitByChar('\\0', {listed_values:String}) AND f = 2",
    });
  });

  test("is told from others", () => {
    const of = (text: string) => listedDeletionOf(text, cluster);
    expect(of("DELETE FROM seen WHERE a IN {b:Array(String)}")).toBeUndefined();
    expect(of("SELECT 1 FROM seen WHERE a IN (SELECT 1)")).toBeUndefined();
    expect(() => of("DELETE FROM a WHERE b IN (SELECT 1) AND c IN (SELECT 2)")).toThrow("two lists");
    expect(() => of("DELETE FROM a WHERE b NOT IN (SELECT 1)")).toThrow("not listed");
    expect(() => of("DELETE FROM a WHERE c = 1 OR b IN (SELECT 1)")).toThrow("not listed");
    expect(() => of("DELETE FROM a IN PARTITION 1 WHERE b IN (SELECT 1)")).toThrow("no rule");
  });

  test("holds its values as one text, even a single empty one", () => {
    expect(listedText(["a", "b"])).toBe("a\0b\0a");
    expect(listedText([""])).toBe("\0");
    expect(() => listedText(["a\0b"])).toThrow("NUL");
  });

  test("holds no more values than an entry of the keeper", () => {
    expect([...portions(["aa", "bb", "cc"], 8)]).toEqual([["aa", "bb"], ["cc"]]);
    expect([...portions(["a".repeat(50), "b"], 12)]).toEqual([["a".repeat(50)], ["b"]]);
    expect([...portions(["éé", "b"], 8)]).toEqual([["éé"], ["b"]]);
    expect([...portions([], 10)]).toEqual([]);
  });
});
