// Statements about recordings: how many there are for a request, what each asks for, and what is never asked.

import { expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { sessionRecordingLimits } from "../../src/session_recordings/limits.ts";
import { findRemains, hideSessions, removeHidden } from "../../src/session_recordings/removal_store.ts";
import {
  emptyRecording,
  findDistinctIds,
  findRecordings,
  readFirstProperties,
  readRows,
} from "../../src/session_recordings/store.ts";
import { type ClickHouse, ClickHouseError } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads, wholePageOptions } from "../../src/storage/clickhouse/query_options.ts";

interface Call {
  how: string;
  text: string;
  params: Record<string, unknown>;
  options: Record<string, unknown>;
}

/** A project of an engine that answers the first statement with the first of these, and so on. */
function openProject(...answers: (object[] | Error)[]) {
  const calls: Call[] = [];
  const say = (how: string) => (text: string, params: never, options: never) => {
    calls.push({ how, text: text.replaceAll(/\s+/g, " "), params, options });
    const answer = answers.shift() ?? [];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const tables = { local: (table: string) => `own.${table}` };
  const clickhouse = { query: say("query"), command: say("command"), tables } as unknown as ClickHouse;
  return { calls, clickhouse, reads: toReads(clickhouse, 7) };
}

test("recordings are read by their names, every column that a reply may show, and none asks nothing", async () => {
  const row = { ...emptyRecording("s"), click_count: 3 };
  const { calls, reads } = openProject([row]);
  expect([await findRecordings(reads, []), await readRows(reads, [])]).toEqual([[], []]);
  expect(calls).toEqual([]);
  expect(await findRecordings(reads, ["s", "t"])).toEqual([row]);
  const [{ text, params }] = calls as [Call];
  const columns = / ?SELECT (.*?) FROM session_recordings WHERE project_id = \{project_id:UInt32\} AND/.exec(
    text,
  );
  expect(columns![1]!.split(", ").toSorted()).toEqual(Object.keys(row).toSorted());
  expect(params).toEqual({ project_id: 7, session_ids: ["s", "t"] });
});

test("hashes of sessions are whole 64-bit numbers, and what is none is refused before the engine is asked", async () => {
  const { calls, reads } = openProject();
  await readRows(reads, ["0", "18446744073709551615"]);
  expect(calls[0]!.params["hashes"]).toEqual([0n, 18_446_744_073_709_551_615n]);
  await expect(readRows(reads, ["1; DROP"])).rejects.toThrow(SyntaxError);
  expect(calls).toHaveLength(1);
});

test("the ids of a person without events are found by the first 48 bits of its uuid, so many at most", async () => {
  const { calls, reads } = openProject([{ distinct_id: "ann" }, { distinct_id: "bob" }]);
  expect(await findDistinctIds(reads, "01234567-89ab-5cde-8f01-23456789abcd")).toEqual(["ann", "bob"]);
  expect(calls[0]!.params).toEqual({ project_id: 7, start: "0123456789ab" });
  expect(calls[0]!.text).toEndWith(`LIMIT ${sessionRecordingLimits.recordingIdsMax}`);
});

test("remains are looked for in the pieces and in the days", async () => {
  const { calls, reads } = openProject([{ session_id: "s" }]);
  expect(await findRemains(reads, ["s", "t"])).toEqual(["s"]);
  expect(calls[0]!.text).toMatch(/FROM snapshot_chunks .* UNION DISTINCT .* FROM session_recording_days /);
});

test("hiding deletes this project's rows by hash, and pieces by name besides: other sessions may share a hash", async () => {
  const { calls, reads } = openProject([{ hash: "18446744073709551615" }, { hash: "5" }]);
  await hideSessions(reads, ["s", "t"]);
  const [asked, ...deletions] = calls;
  expect(asked).toMatchObject({ how: "query", params: { session_ids: ["s", "t"] } });
  const ofHashes = "WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)}";
  expect(deletions.map(({ text }) => text.trim())).toEqual([
    `DELETE FROM own.snapshot_chunks ${ofHashes} AND session_id IN {session_ids:Array(String)}`,
    `DELETE FROM own.session_recording_days ${ofHashes}`,
  ]);
  for (const { how, params, options } of deletions) {
    const hashes = [18_446_744_073_709_551_615n, 5n];
    expect([how, params]).toEqual(["command", { project_id: 7, session_ids: ["s", "t"], hashes }]);
    // 2: resolves when every replica has hidden them.
    expect(options["settings"]).toEqual({ lightweight_deletes_sync: 2 });
    expect(options["timeoutMs"]).toBe(sessionRecordingLimits.recordingRemovalMsMax);
  }
});

test("the second table is not touched when the first one failed, and the failure is told", async () => {
  const { calls, reads } = openProject([{ hash: "5" }], new Error("no disk"));
  const hidden = hideSessions(reads, ["s"]).catch((thrown: Error) => thrown.message);
  expect([await hidden, calls.length]).toEqual(["no disk", 2]);
});

test("what is hidden is removed from both tables, by a mutation that is waited for", async () => {
  const { calls, clickhouse } = openProject();
  await removeHidden(clickhouse);
  expect(calls.map(({ text }) => text)).toEqual([
    "ALTER TABLE own.snapshot_chunks APPLY DELETED MASK",
    "ALTER TABLE own.session_recording_days APPLY DELETED MASK",
  ]);
  expect(calls.map(({ options }) => options["settings"])).toEqual([
    { mutations_sync: 1 },
    { mutations_sync: 1 },
  ]);
});

const starts = [
  { start: "2026-03-04 10:00:00.5" },
  { start: "2026-03-04 23:00:00" },
  { start: "2026-03-05 00:00:00" },
];

test("first properties are read from the days of the sessions' starts only, and without any nothing is read", async () => {
  const first = { session_id: "s", properties: "{}" };
  const { calls, reads } = openProject(starts, [first]);
  expect(await readFirstProperties(reads, [])).toEqual([]);
  expect(calls).toEqual([]);
  expect(await readFirstProperties(reads, ["s"])).toEqual([first]);
  expect(calls[1]!.params).toEqual({
    project_id: 7,
    session_ids: ["s"],
    starts: starts.map(({ start }) => start),
    days: ["2026-03-04", "2026-03-05"],
  });
  expect(calls[1]!.options).toEqual({ ...wholePageOptions });
  const none = openProject([]);
  expect(await readFirstProperties(none.reads, ["s"])).toEqual([]);
  expect(none.calls).toHaveLength(1);
});

test("properties that exceed a page are refused by name; any other failure is told as it is", async () => {
  const tooBig = new ClickHouseError("too big", "396", "TOO_MANY_ROWS_OR_BYTES");
  const refused = await readFirstProperties(openProject(starts, tooBig).reads, ["s"]).catch(
    (one: unknown) => one,
  );
  expect(refused).toBeInstanceOf(Fault);
  expect(refused).toMatchObject({ code: "max_length", attr: "session_ids" });
  const gone = new ClickHouseError("gone", "210", "NETWORK_ERROR");
  expect(await readFirstProperties(openProject(starts, gone).reads, ["s"]).catch((one: unknown) => one)).toBe(
    gone,
  );
});
