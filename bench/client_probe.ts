// A process that sends what the usual clients send, each kind at its own pace, and notes how long each answer takes. For
// each line that it reads it reports by kind, and starts again.

import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";

const [url, key, personal, project] = process.argv.slice(2) as [string, string, string, string];

/** What one kind of client saw. */
interface ClientSeen {
  asked: number;
  /** Answers that were no success; a connection that broke counts too. */
  refused: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

interface Kind {
  everyMs: number;
  path: string;
  body: () => string | Uint8Array;
  method?: string;
  headers?: Record<string, string>;
}

const event = (more = "", name = "probe") =>
  `{"event":"${name}","distinct_id":"probe","properties":{"token":"${key}"${more}}}`;
const batch = (bytes: number, more = "") =>
  `{"api_key":"${key}",${more}"batch":[${Array.from({ length: bytes / 100 }, () => event()).join(",")}]}`;
const snapshot = `{"type":3,"timestamp":1700000000000,"data":{"a":"${"x".repeat(30_000)}"}}`;
const recording = event(`,"$session_id":"s","$window_id":"w","$snapshot_data":[${snapshot}]`, "$snapshot");

function v1Body(): string {
  const timestamp = new Date().toISOString();
  const one = () => ({ event: "probe", uuid: crypto.randomUUID(), distinct_id: "d", timestamp });
  return JSON.stringify({ created_at: timestamp, batch: Array.from({ length: 50 }, one) });
}

function fixed(body: string | Uint8Array): () => string | Uint8Array {
  return () => body;
}

const kinds: Record<string, Kind> = {
  "posthog-js": { everyMs: 20, path: "/e/?ip=0&_=1&ver=1.2", body: fixed(event()) },
  "posthog-node, gzip": {
    everyMs: 50,
    path: "/batch/",
    body: fixed(gzipSync(batch(20_000))),
    headers: { "content-encoding": "gzip" },
  },
  "25 kB": { everyMs: 50, path: "/batch/", body: fixed(batch(25_000)) },
  recording: { everyMs: 50, path: "/s/?compression=gzip-js&ip=0&_=1", body: fixed(gzipSync(recording)) },
  v1: {
    everyMs: 50,
    path: "/i/v1/analytics/events",
    body: v1Body,
    headers: { authorization: `Bearer ${key}` },
  },
  PATCH: {
    everyMs: 100,
    method: "PATCH",
    path: `/api/projects/${project}/`,
    body: fixed('{"name":"probe"}'),
    headers: { authorization: `Bearer ${personal}`, "content-type": "application/json" },
  },
  "import of 2 MB": {
    everyMs: 500,
    path: "/batch/",
    body: fixed(batch(2_000_000, '"historical_migration":true,')),
  },
};

const took: Record<string, number[]> = {};
const refused: Record<string, number> = {};

function clear(): void {
  for (const name of Object.keys(kinds)) [took[name], refused[name]] = [[], 0];
}

function seenBy(name: string): ClientSeen {
  const waits = took[name]!.toSorted((a, b) => a - b);
  const at = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  return { asked: waits.length, refused: refused[name]!, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}

async function send(name: string, { path, method = "POST", body, headers = {} }: Kind): Promise<void> {
  const started = performance.now();
  try {
    const reply = await fetch(url + path, { method, body: body() as string, headers });
    await reply.arrayBuffer();
    if (!reply.ok) refused[name]!++;
  } catch {
    refused[name]!++;
  }
  took[name]!.push(performance.now() - started);
}

createInterface({ input: process.stdin })
  .on("line", () => {
    const seen = Object.fromEntries(Object.keys(kinds).map((name) => [name, seenBy(name)]));
    process.stdout.write(`${JSON.stringify(seen)}\n`);
    clear();
  })
  .on("close", () => process.exit(0));

clear();
await Promise.all(
  Object.entries(kinds).map(async ([name, kind]) => {
    for (;;) {
      await send(name, kind);
      await Bun.sleep(kind.everyMs);
    }
  }),
);

export type { ClientSeen };
