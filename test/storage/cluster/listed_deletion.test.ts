// The statements that a deletion of listed rows becomes, and which of them wait.

import { describe, expect, test } from "bun:test";
import type { ClickHouse, QueryOptions } from "../../../src/storage/clickhouse/clickhouse.ts";
import { ownTables } from "../../../src/storage/clickhouse/statement.ts";
import { clusterLimits } from "../../../src/storage/cluster/limits.ts";
import { deleteListed, listedText, textBytes } from "../../../src/storage/cluster/listed_deletion.ts";
import { clusterTables } from "../../../src/storage/cluster/placement.ts";
import { cutPortions } from "../../../src/storage/portions.ts";

const { listedBytesMax, listedRowsMax, queuedDeletionsMax } = clusterLimits;

interface Sent {
  values: string[];
  waits: boolean;
}

const deletion = { table: "seen", where: "a = 1", value: "lower(b)", list: "SELECT c FROM deleting_ids" };

/** Deletes rows of these values, as readings find them; resolves to the deletions that were sent. */
async function deletionsOf(readings: string[][]): Promise<{ sent: Sent[]; unread: number }> {
  const left = [...readings];
  const sent: Sent[] = [];
  const cluster = { name: "main", database: "sluice" };
  const played = {
    cluster,
    tables: clusterTables(cluster),
    query: async () => (left.shift() ?? []).map((listed) => ({ listed })),
    command: async (_text: string, params: Record<string, string>, { settings }: QueryOptions) => {
      // The first value stands at the end once more.
      const values = params["listed_values"]!.split("\0").slice(0, -1);
      sent.push({ values, waits: settings?.["lightweight_deletes_sync"] === 2 });
    },
  } as unknown as ClickHouse;
  await deleteListed(played, deletion, {}, {});
  return { sent, unread: left.length };
}

const values = (count: number, bytes: number): string[] =>
  Array.from({ length: count }, (_, i) => String(i).padStart(bytes, "x"));

test("portions are queued, and the last is waited for", async () => {
  const all = values(5, Math.floor(listedBytesMax / 2) - 10);
  expect((await deletionsOf([all])).sent).toEqual([
    { values: all.slice(0, 2), waits: false },
    { values: all.slice(2, 4), waits: false },
    { values: all.slice(4), waits: true },
  ]);
});

test("very many portions are waited for in between", async () => {
  const { sent } = await deletionsOf([values(queuedDeletionsMax * 2 + 1, listedBytesMax)]);
  expect(sent.flatMap(({ waits }, i) => (waits ? [i + 1] : []))).toEqual([
    queuedDeletionsMax,
    queuedDeletionsMax * 2,
    queuedDeletionsMax * 2 + 1,
  ]);
});

test("values are read again until fewer are found than one reading holds, each time after all were deleted", async () => {
  const { sent, unread } = await deletionsOf([values(listedRowsMax, 1), values(3, 1), values(1, 1)]);
  expect(unread).toBe(1);
  expect(sent.at(-1)).toEqual({ values: values(3, 1), waits: true });
  expect(sent.at(-2)?.waits).toBe(true);
  expect(sent.flatMap((one) => one.values).length).toBe(listedRowsMax + 3);
});

test("where no row has a value, nothing is sent to all servers", async () => {
  expect((await deletionsOf([[]])).sent).toEqual([]);
});

/** The texts of the statements by which the rows are deleted. */
async function textsOf(on: Partial<ClickHouse>): Promise<string[]> {
  const texts: string[] = [];
  const note = (text: string) => texts.push(text.replaceAll(/\s+/g, " "));
  const played = {
    ...on,
    query: async (text: string) => {
      note(text);
      return [{ listed: "x" }];
    },
    command: async (text: string) => void note(text),
  } as unknown as ClickHouse;
  await deleteListed(played, deletion, {}, {});
  return texts;
}

test("one machine deletes by the list itself", async () => {
  expect(await textsOf({ tables: ownTables })).toEqual([
    "DELETE FROM seen WHERE a = 1 AND lower(b) IN (SELECT c FROM deleting_ids)",
  ]);
});

test("on a cluster it is two statements, as replicas carry out the second one later", async () => {
  const cluster = { name: "main", database: "sluice" };
  expect(await textsOf({ cluster, tables: clusterTables(cluster) })).toEqual([
    "SELECT DISTINCT lower(b) AS listed FROM clusterAllReplicas('main', 'sluice', 'seen_local') WHERE a = 1 " +
      "AND lower(b) GLOBAL IN (SELECT c FROM deleting_ids) LIMIT {listed_rows:UInt64}",
    "DELETE FROM `seen_local` ON CLUSTER 'main' WHERE a = 1 " +
      "AND lower(b) IN splitByChar('\\0', {listed_values:String})",
  ]);
});

describe("a deletion of listed rows", () => {
  test("holds its values as one text, even a single empty one", () => {
    expect(listedText(["a", "b"])).toBe("a\0b\0a");
    expect(listedText([""])).toBe("\0");
    expect(() => listedText(["a\0b"])).toThrow("NUL");
  });

  test("holds no more values than an entry of the keeper", () => {
    expect(cutPortions(["aa", "bb", "cc"], textBytes, 8)).toEqual([["aa", "bb"], ["cc"]]);
    expect(cutPortions(["a".repeat(50), "b"], textBytes, 12)).toEqual([["a".repeat(50)], ["b"]]);
    expect(cutPortions(["éé", "b"], textBytes, 8)).toEqual([["éé"], ["b"]]);
    expect(cutPortions([], textBytes, 10)).toEqual([]);
  });
});
