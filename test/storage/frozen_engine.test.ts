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
