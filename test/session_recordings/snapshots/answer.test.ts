// Blobs are read one by one, each when the client has taken the one before it. What is ready to be sent is no longer
// counted among recordings that are being read.

import { expect, test } from "bun:test";
import { heldReplies } from "../../../src/http/pages/held_replies.ts";
import { LongReply } from "../../../src/http/pages/long_reply.ts";
import { answerSnapshots } from "../../../src/session_recordings/snapshots/answer.ts";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { Readers } from "../../../src/session_recordings/snapshots/pieces.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";

const uuids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
const size = snapshotLimits.snapshotBlobBytesMax;
const listed = uuids.map((uuid) => {
  const at = "2026-03-04 10:00:00.000000";
  return { uuid, first_at: at, last_at: at, size, events: 1, inflated: 0 };
});

/** A RowBinary row of strings. */
function rowOf(...texts: string[]): Uint8Array {
  return Buffer.concat(texts.flatMap((text) => [Buffer.from(lengthOf(text.length)), Buffer.from(text)]));
}

/** A number as LEB128. */
function lengthOf(number: number): number[] {
  return number < 128 ? [number] : [(number & 127) | 128, ...lengthOf(number >> 7)];
}

test("a client that leaves while a blob is read returns the memory of that blob too", async () => {
  const [asked, second] = [Promise.withResolvers<void>(), Promise.withResolvers<Uint8Array>()];
  const clickhouse = {
    query: () => Promise.resolve(listed),
    bytes: (_: string, params: { uuids: string[] }) => {
      if (params.uuids[0] === uuids[0]) return Promise.resolve(rowOf(uuids[0]!, "w", '[{"timestamp":1}]'));
      asked.resolve();
      return second.promise;
    },
  } as unknown as ClickHouse;
  const readers = new Readers();
  const held = heldReplies.heldBy();
  const url = new URL("http://localhost/?source=blob_v2");
  const query = {
    source: "blob_v2",
    blob_v2: undefined,
    decompress: undefined,
    blob_key: undefined,
    start_blob_key: undefined,
    end_blob_key: undefined,
  };
  const session = { project_id: 1, session_id: "s" };
  const reply = await answerSnapshots({ clickhouse, readers }, session, query, {
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
  const left = () => heldReplies.heldBy() - held;
  for (let turns = 0; left() > 0 && turns < 1000; turns++) await turn();
  expect(left()).toBe(0);
  expect(await readers.within(2, new AbortController().signal, () => Promise.resolve("read"))).toBe("read");
});

test("readers who do not read their replies use no memory of other projects' readers", async () => {
  const filler = "x".repeat(600_000);
  const clickhouse = {
    query: () => Promise.resolve(listed),
    bytes: (_: string, params: { uuids: string[] }) =>
      Promise.resolve(
        Buffer.concat(params.uuids.map((uuid) => rowOf(uuid, "w", `[{"timestamp":1,"filler":"${filler}"}]`))),
      ),
  } as unknown as ClickHouse;
  const readers = new Readers();
  const keys = {
    blob_v2: undefined,
    decompress: undefined,
    blob_key: undefined,
    start_blob_key: undefined,
    end_blob_key: undefined,
  };
  for (const source of [undefined, "blob_v2"]) {
    const held = heldReplies.heldBy();
    const url = new URL("http://localhost/");
    const session = { project_id: 1, session_id: "s" };
    const request = new Request(url.href);
    const reply = await answerSnapshots(
      { clickhouse, readers },
      session,
      { source, ...keys },
      { url, request },
    );
    expect(reply).toBeInstanceOf(LongReply);
    expect(await readers.within(2, request.signal, () => Promise.resolve("read"))).toBe("read");
    expect(heldReplies.heldBy() - held).toBeGreaterThan(filler.length);
    const text = await reply.text();
    expect(text.split(filler)).toHaveLength(3);
    expect(heldReplies.heldBy()).toBe(held);
  }
});
