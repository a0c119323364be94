// Blobs are read one by one, each when the client has taken the one before it.

import { expect, test } from "bun:test";
import { answerSnapshots } from "../../../src/session_recordings/snapshots/answer.ts";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { ReadingBudget } from "../../../src/session_recordings/snapshots/reading_budget.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";

const uuids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
const size = snapshotLimits.snapshotBlobBytesMax;
const listed = uuids.map((uuid) => {
  const at = "2026-03-04 10:00:00.000000";
  return { uuid, first_at: at, last_at: at, size, events: 1, window_id: "" };
});

/** A RowBinary row of three strings of less than 128 bytes each. */
function rowOf(...texts: string[]): Uint8Array {
  return Buffer.concat(texts.flatMap((text) => [Buffer.from([text.length]), Buffer.from(text)]));
}

test("a client that leaves while a blob is read gives back the memory of that blob too", async () => {
  const [asked, second] = [Promise.withResolvers<void>(), Promise.withResolvers<Uint8Array>()];
  const clickhouse = {
    query: () => Promise.resolve(listed),
    bytes: (_: string, params: { uuids: string[] }) => {
      if (params.uuids[0] === uuids[0]) return Promise.resolve(rowOf(uuids[0]!, "w", '[{"timestamp":1}]'));
      asked.resolve();
      return second.promise;
    },
  } as unknown as ClickHouse;
  const budget = new ReadingBudget();
  const url = new URL("http://localhost/?source=blob_v2");
  const query = {
    source: "blob_v2",
    blob_key: undefined,
    start_blob_key: undefined,
    end_blob_key: undefined,
  };
  const session = { project_id: 1, session_id: "s" };
  const reply = await answerSnapshots({ clickhouse, budget }, session, query, {
    url,
    request: new Request(url.href),
  });
  const reader = reply.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('["w",{"timestamp":1}]\n');
  const reading = reader.read();
  await asked.promise;
  const cancelled = reader.cancel();
  second.resolve(rowOf(uuids[1]!, "w", '[{"timestamp":2}]'));
  await Promise.all([reading, cancelled]);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (let turns = 0; budget.bytes > 0 && turns < 1000; turns++) await turn();
  expect(budget.bytes).toBe(0);
});
