// Recordings as a user is shown them, put together of rows, deletions, views and persons that are given.

import { expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import { sessionRecordingLimits } from "../../src/session_recordings/limits.ts";
import {
  existing,
  findRow,
  getRecording,
  getRow,
  listPage,
  type RecordingReaderOptions,
} from "../../src/session_recordings/recording_reader.ts";
import { emptyRecording, type RecordingRow } from "../../src/session_recordings/store.ts";
import type { CountCache } from "../../src/work/count_cache.ts";
import { clockAt } from "../support/journal.ts";

interface World {
  rows?: RecordingRow[];
  deleted?: string[];
  viewed?: string[];
  /** The property `email` of the distinct ids that events have. */
  emails?: Record<string, string>;
}

const now = Date.UTC(2026, 2, 4, 10, 30);
const viewer = { project_id: 7, user_id: 3 };

/** Stores with what is given. Postgres and ClickHouse tell statements apart by their tables. */
function openWorld({ rows = [], deleted = [], viewed = [], emails = {} }: World) {
  const asked: string[] = [];
  const sql = ({ raw }: TemplateStringsArray, ...values: unknown[]) => {
    const text = raw.join("?");
    asked.push(text);
    const ids = values.find((value): value is string[] => Array.isArray(value));
    const named = text.includes("FROM session_recording_views") ? viewed : deleted;
    return Promise.resolve(
      named.filter((id) => ids?.includes(id) ?? true).map((session_id) => ({ session_id })),
    );
  };
  const query = (text: string, { ids = [], session_ids }: { ids?: string[]; session_ids?: string[] }) => {
    asked.push(text);
    if (text.includes("count() AS count")) return Promise.resolve([{ count: String(rows.length) }]);
    if (text.includes("FROM merged_ids")) return Promise.resolve([]);
    if (!text.includes("FROM seen")) {
      return Promise.resolve(rows.filter(({ session_id }) => session_ids?.includes(session_id) ?? true));
    }
    const change = { key: "", at: "2026-01-02 03:04:05.000006", tie: "0", op: 0, value: "" };
    const known = ids.filter((id) => Object.hasOwn(emails, id));
    return Promise.resolve([
      ...known.map((distinct_id) => ({ ...change, distinct_id, kind: 9 })),
      ...known.map((distinct_id) => {
        const value = JSON.stringify(emails[distinct_id]);
        return { ...change, distinct_id, key: "email", at: "1", kind: 0, value };
      }),
    ]);
  };
  const options = { sql, clickhouse: { query }, clock: clockAt(now) } as unknown as RecordingReaderOptions;
  return { options, asked };
}

const row = (session_id: string, more: Partial<RecordingRow> = {}): RecordingRow => ({
  ...emptyRecording(session_id),
  distinct_id: "ann",
  start_time: "2026-03-04 10:00:00.250000",
  end_time: "2026-03-04 10:01:00.000000",
  last_received_at: "2026-03-04 10:25:00.000000",
  ...more,
});

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown as Fault,
  );

test("a recording that was deleted is none, whichever way it is asked for", async () => {
  const { options } = openWorld({ rows: [row("a"), row("b")], deleted: ["b"] });
  expect((await existing(options, 7, ["a", "b"])).map(({ session_id }) => session_id)).toEqual(["a"]);
  expect((await getRow(options, 7, "a")).session_id).toBe("a");
  for (const asked of [
    getRow(options, 7, "b"),
    findRow(options, 7, "b"),
    getRecording(options, viewer, "b"),
  ]) {
    expect(await refusal(asked)).toMatchObject({ code: "not_found" });
  }
});

test("a session whose pieces may still arrive has no row yet; a reply about it is not found", async () => {
  const { options } = openWorld({});
  expect(await findRow(options, 7, "soon")).toBeUndefined();
  expect(await refusal(getRow(options, 7, "soon"))).toMatchObject({ code: "not_found" });
});

test.each([
  ["empty", ""],
  ["too long", "s".repeat(limits.sessionIdCharsMax + 1)],
  ["with a NUL, which Postgres refuses", "a\0b"],
  ["with half a surrogate pair", "a\ud800"],
])("an id that no recorder assigns is not found, and no store is asked: %s", async (_, id) => {
  const { options, asked } = openWorld({ rows: [row(id)] });
  const refused = await refusal(findRow(options, 7, id));
  expect(refused).toBeInstanceOf(Fault);
  expect([refused!.code, asked]).toEqual(["not_found", []]);
});

test("the longest id is found", async () => {
  const id = "s".repeat(limits.sessionIdCharsMax);
  expect((await findRow(openWorld({ rows: [row(id)] }).options, 7, id))?.session_id).toBe(id);
});

test("a recording is shown with its person and whether it was viewed, and without what is the store's own", async () => {
  const { options } = openWorld({ rows: [row("a")], viewed: ["a"], emails: { ann: "ann@example.com" } });
  const { person, ...shown } = await getRecording(options, viewer, "a");
  const uuid = ownPersonId(7, "ann");
  expect(person).toEqual({
    id: Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16),
    name: "ann@example.com",
    distinct_ids: "ann",
    properties: { email: "ann@example.com" },
    created_at: "2026-01-02T03:04:05.000006Z",
    uuid,
  });
  const { session_hash: _, session_id: _id, last_received_at: _at, ...figures } = row("a");
  expect(shown).toEqual({
    ...figures,
    id: "a",
    viewed: true,
    ongoing: true,
    start_time: "2026-03-04T10:00:00.250000Z",
    end_time: "2026-03-04T10:01:00Z",
  });
});

test("the person of a recording without events is its distinct id, first seen when it began", async () => {
  const { options } = openWorld({ rows: [row("a")] });
  const { person, viewed, start_time } = await getRecording(options, viewer, "a");
  expect(viewed).toBe(false);
  expect(person).toMatchObject({ name: "ann", distinct_ids: "ann", properties: {}, created_at: start_time });
});

test.each([
  ["10:25:00.000000", true],
  ["10:24:59.999000", false],
])("a recording whose last piece came at %s is ongoing at 10:30: %p", async (time, ongoing) => {
  const { options } = openWorld({ rows: [row("a", { last_received_at: `2026-03-04 ${time}` })] });
  expect((await getRecording(options, viewer, "a")).ongoing).toBe(ongoing);
});

const order = { column: "start_time", ascending: false } as const;
const wanted = { written: "", order };

function pageOf(world: World, counted: string[] = []) {
  const { options } = openWorld(world);
  const count = (_: number, key: string, query: () => Promise<number>) => (counted.push(key), query());
  const counts = { count } as unknown as CountCache;
  return listPage({ ...options, counts }, viewer, wanted as never, { limit: 100, offset: 0 });
}

test("a page has its recordings and their number, and its count is kept apart from one with other deletions", async () => {
  const rows = [row("a", { session_hash: "1" }), row("b", { session_hash: "2", distinct_id: "bob" })];
  const counted: string[] = [];
  const { count, recordings } = await pageOf({ rows }, counted);
  expect([count, recordings.map(({ id, person }) => [id, person.name])]).toEqual([
    2,
    [
      ["a", "ann"],
      ["b", "bob"],
    ],
  ]);
  const after = await pageOf({ rows, deleted: ["a"] }, counted);
  expect(after.recordings.map(({ id }) => id)).toEqual(["b"]);
  expect(new Set(counted).size).toBe(2);
});

test("a page too large with its persons is refused with the limit that fits, and that one is answered", async () => {
  // Each is shown with `{"email":"…"}`: 12 characters and the value.
  const chars = 512 * 1024;
  const emails = { ann: "x".repeat(chars - 12) };
  const fits = sessionRecordingLimits.recordingsPageCharsMax / chars;
  const rows = Array.from({ length: fits + 1 }, (_, i) => row(`s${i}`, { session_hash: String(i + 1) }));
  const refused = await refusal(pageOf({ rows, emails }));
  expect(refused).toMatchObject({ code: "max_value", attr: "limit" });
  expect(refused!.message).toContain(`limit=${fits}.`);
  const { recordings } = await pageOf({ rows: rows.slice(0, fits), emails });
  expect(recordings).toHaveLength(fits);
  expect((recordings[0]!.person.properties as { email: string }).email).toHaveLength(chars - 12);
});
