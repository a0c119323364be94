import { afterAll, beforeAll, expect, test } from "bun:test";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, type Server, startServer } from "../support/server.ts";
import { startFront, storesStartMsMax, type TestFront } from "../support/stores.ts";

let front: TestFront;
let server: Server;

beforeAll(async () => {
  front = await startFront();
  server = await startServer({
    CLICKHOUSE_URL: front.url,
    SECRET_KEY: "a key that is long enough for tests 0123",
  });
}, 2 * storesStartMsMax);
afterAll(cleanUp, storesStartMsMax);

const filters = JSON.stringify([{ key: "plan", value: "free", type: "event" }]);
const trend = JSON.stringify({ query: { kind: "TrendsQuery", series: [{}] } });
const reads: [path: string, body?: string][] = [
  ["events/"],
  [`events/?properties=${encodeURIComponent(filters)}`],
  ["persons/"],
  ["groups/"],
  ["ingestion_warnings/"],
  ["session_recordings/"],
  ["sessions/values/?key=$entry_current_url"],
  ["query/", trend],
];

const person = JSON.stringify([{ key: "email", value: "x", type: "person", operator: "icontains" }]);
const busyReads: typeof reads = [
  ...reads,
  ["events/?format=csv"],
  ["events/?select=event"],
  ["events/values/?key=plan"],
  ["persons/?limit=100"],
  ["persons/?email=nobody@example.com"],
  ["persons/?search=ann"],
  [`persons/?properties=${encodeURIComponent(person)}`],
  ["persons/values/?key=plan"],
  [`session_recordings/?properties=${encodeURIComponent(person)}`],
  ["groups/?group_type_index=0"],
  ["query/", JSON.stringify({ query: { kind: "HogQLQuery", query: "select count() from events" } })],
];

function read([path, body]: (typeof reads)[number]): Promise<Response> {
  const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
  const method = body === undefined ? "GET" : "POST";
  return fetch(`${server.url}/api/projects/1/${path}`, { method, headers, ...(body && { body }) });
}

test(
  "a read of an engine that is frozen is told to come back, and never that it asks for too much",
  async () => {
    process.kill(front.pid, "SIGSTOP");
    const replies = await Promise.all(reads.map(read)).finally(() => process.kill(front.pid, "SIGCONT"));
    for (const [i, reply] of replies.entries()) {
      const { code, detail } = (await reply.json()) as { code: string; detail: string };
      const said = [reads[i]![0], reply.status, code, reply.headers.has("retry-after")];
      expect(said).toEqual([reads[i]![0], 503, "unavailable", true]);
      expect(detail).toMatch(
        /^The event store (does not answer|cannot be reached|is busy)\. Please retry\.$/,
      );
    }
    const after = await Promise.all(reads.map(read));
    expect(after.map(({ status }) => status)).toEqual(reads.map(() => 200));
  },
  2 * storesStartMsMax,
);

test(
  "a read that a busy engine does not finish in time, or that somebody ended, is told to come back, too",
  async () => {
    for (const [code, type] of [
      [159, "TIMEOUT_EXCEEDED"],
      [394, "QUERY_WAS_CANCELLED"],
    ] as const) {
      await front.fault({ kind: "fail_before", times: 1000, match: "project_id", code, type });
      const replies = await Promise.all(busyReads.map(read)).finally(() => front.clear());
      for (const [i, reply] of replies.entries()) {
        const { code: said } = (await reply.json()) as { code: string };
        const what = busyReads[i]![0];
        expect([what, reply.status, said, reply.headers.has("retry-after")]).toEqual([
          what,
          503,
          "unavailable",
          true,
        ]);
      }
    }
    const after = await Promise.all(busyReads.map(read));
    expect(after.map(({ status }) => status)).toEqual(busyReads.map(() => 200));
  },
  2 * storesStartMsMax,
);
