// Senders that announce much and send little. What others send meanwhile is kept, whatever its address or encoding.

import { afterAll, expect, test } from "bun:test";
import { type Socket, connect } from "node:net";
import { gzipSync } from "node:zlib";
import { cleanUp, later } from "../support/cleanup.ts";
import { type Desk, key, openDesk } from "../support/capture.ts";

afterAll(cleanUp);

const foreignKey = "phc_another_project";

/** A desk behind a port, since only a real connection can send less than it announces. */
function openPort(): { url: string; port: number; desk: Desk } {
  const desk = openDesk({ bodyBytesMax: 20 << 20, projects: { [foreignKey]: 8 }, records: true });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: desk.handle,
    maxRequestBodySize: 100 << 20,
  });
  later(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, port: server.port ?? 0, desk };
}

/** Sends the beginning of a body of so many bytes, and nothing more. */
async function beginBodies(port: number, count: number, announced: number, begun: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`POST /batch/ HTTP/1.1\r\nHost: sluice\r\nContent-Length: ${announced}\r\n\r\n${begun}`);
    return socket;
  });
  later(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  return sockets;
}

const event = (more = "") => `{"event":"e","distinct_id":"d","properties":{"token":"${key}"${more}}}`;
const batch = (bytes: number) => {
  const items = Array.from({ length: Math.ceil(bytes / 80) }, () => event());
  return `{"api_key":"${key}","batch":[${items.join(",")}]}`;
};
const recording = event(
  `,"$session_id":"s","$window_id":"w","$snapshot_data":[{"type":3,"timestamp":1700000000000,"data":{"a":"${"x".repeat(30_000)}"}}]`,
).replace('"event":"e"', '"event":"$snapshot"');
const v1 = JSON.stringify({
  created_at: "2026-01-01T00:00:00Z",
  batch: [
    {
      event: "e",
      uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
      distinct_id: "d",
      timestamp: "2026-01-01T00:00:00Z",
    },
  ],
});

/** What the usual clients send; each by its name. */
const usual: Record<string, [path: string, body: string | Uint8Array, headers?: Record<string, string>]> = {
  "posthog-js": ["/e/?ip=0&_=1700000000000&ver=1.200.0", event()],
  "posthog-js, compressed": ["/e/?compression=gzip-js&ip=0&_=1&ver=1.2", gzipSync(event())],
  "posthog-node, compressed": ["/batch/", gzipSync(batch(5000)), { "content-encoding": "gzip" }],
  "a batch of 25 kB": ["/batch/", batch(25_000)],
  "a batch of 25 kB whose key comes last": [
    "/batch/",
    `{${batch(25_000).slice(1, -1).split(/,(.*)/s)[1]},"api_key":"${key}"}`,
  ],
  "a batch of 900 kB": ["/batch/", batch(900_000)],
  "a recording": ["/s/?ip=0&_=1&ver=1.2", recording],
  "a recording, compressed": ["/s/?compression=gzip-js&ip=0&_=1&ver=1.2", gzipSync(recording)],
  v1: ["/i/v1/analytics/events", v1, { authorization: `Bearer ${key}` }],
  "an import of 2 MB": ["/batch/", batch(2_000_000)],
};

async function statusesOf(url: string): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const [name, [path, body, headers = {}]] of Object.entries(usual)) {
    const reply = await fetch(url + path, { method: "POST", body: body as string, headers });
    await reply.arrayBuffer();
    statuses[name] = reply.status;
  }
  return statuses;
}

const allKept = Object.fromEntries(Object.keys(usual).map((name) => [name, 200]));

const senders: Record<string, [announced: number, begun: string]> = {
  "without a key, a megabyte": [1_048_576, `{"event":"${"x".repeat(50)}`],
  "without a key, twenty megabytes": [20_000_000, `{"event":"${"x".repeat(50)}`],
  "with another project's key, a megabyte": [1_048_576, `{"api_key":"${foreignKey}","batch":[{"event":`],
  "with another project's key, twenty megabytes": [
    20_000_000,
    `{"api_key":"${foreignKey}","batch":[{"event":`,
  ],
  "without a key, 16 kB": [16_000, `{"event":"${"x".repeat(50)}`],
};

for (const [name, [announced, begun]] of Object.entries(senders)) {
  test(`200 bodies that are announced and do not come refuse nobody: ${name}`, async () => {
    const { url, port, desk } = openPort();
    await beginBodies(port, 200, announced, begun);
    expect(await statusesOf(url)).toEqual(allKept);
    // Only what came is in memory.
    expect(desk.options.memory.held).toBeLessThan(8 << 20);
  }, 60_000);
}
