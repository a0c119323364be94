// The statements that a deletion of listed rows becomes, and which of them wait.

import { expect, test } from "bun:test";
import type { ClickHouse, QueryOptions } from "../../../src/storage/clickhouse/clickhouse.ts";
import { openClusterClient } from "../../../src/storage/cluster/cluster_client.ts";
import { clusterLimits } from "../../../src/storage/cluster/limits.ts";

const { listedBytesMax, listedRowsMax, queuedDeletionsMax } = clusterLimits;

interface Sent {
  values: string[];
  waits: boolean;
}

/** Deletes rows of these values, as readings find them; resolves to the deletions that were sent. */
async function deletionsOf(readings: string[][]): Promise<{ sent: Sent[]; unread: number }> {
  const left = [...readings];
  const sent: Sent[] = [];
  const played = {
    query: async () => (left.shift() ?? []).map((listed) => ({ listed })),
    command: async (_text: string, params: Record<string, string>, { settings }: QueryOptions) => {
      // The first value stands at the end once more.
      const values = params["listed_values"]!.split("\0").slice(0, -1);
      sent.push({ values, waits: settings?.["lightweight_deletes_sync"] === 2 });
    },
  } as unknown as ClickHouse;
  const client = openClusterClient(played, { name: "main", database: "sluice" });
  await client.command("DELETE FROM seen WHERE a IN (SELECT a FROM deleting_ids)");
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
