// Senders that announce much and send little, and what the usual clients send beside them.

import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { later } from "./cleanup.ts";

/** Sends the beginning of a body of so many bytes on each of `count` connections, and nothing more. */
export async function beginBodies(
  port: number,
  { count, announced, begun, path = "/batch/" }: SlowSender & { count: number },
): Promise<Socket[]> {
  const head = `POST ${path} HTTP/1.1\r\nHost: sluice\r\nContent-Length: ${announced}\r\n\r\n`;
  const sockets: Socket[] = [];
  later(() => sockets.forEach((socket) => socket.destroy()));
  for (let i = 0; i < count; i++) {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => {});
    // An answer is read, so that the connection ends with it.
    socket.on("data", () => {});
    socket.write(head + begun);
    // The queue of connections that are not accepted yet is short.
    if (i % 100 === 99) await connected(socket);
  }
  await connected(sockets.at(-1)!);
  return sockets;
}

async function connected(socket: Socket): Promise<void> {
  if (socket.connecting) await new Promise((resolve) => socket.once("connect", resolve));
}

export interface SlowSender {
  announced: number;
  begun: string;
  path?: string;
}

/** Slow senders by what they announce and whose key they show. */
export function slowSenders(foreignKey: string): Record<string, SlowSender> {
  const keyless = `{"event":"${"x".repeat(50)}`;
  const foreign = `{"api_key":"${foreignKey}","batch":[{"event":`;
  return {
    "without a key, a megabyte": { announced: 1_048_576, begun: keyless },
    "without a key, twenty megabytes": { announced: 20_000_000, begun: keyless },
    "without a key, 16 kB": { announced: 16_000, begun: keyless },
    "with another project's key, a megabyte": { announced: 1_048_576, begun: foreign },
    "with another project's key, twenty megabytes": { announced: 20_000_000, begun: foreign },
    "to the path of flags": { announced: 1_000_000, begun: keyless, path: "/flags/?v=2" },
    "to the path of v1": { announced: 1_000_000, begun: keyless, path: "/i/v1/analytics/events" },
  };
}

interface UsualRequest {
  method?: string;
  path: string;
  body: string | Uint8Array;
  headers?: Record<string, string>;
}

/** What clients send, by its name; with a personal key a management request, too. */
export function usualRequests(key: string, personal?: string): Record<string, UsualRequest> {
  const batch = batchOf(key, 25_000);
  const [, batched] = batch.slice(1, -1).split(/,(.*)/s);
  const recording = recordingOf(key);
  const gzip = { "content-encoding": "gzip" };
  return {
    "posthog-js": { path: "/e/?ip=0&_=1700000000000&ver=1.200.0", body: eventOf(key) },
    "posthog-js, compressed": {
      path: "/e/?compression=gzip-js&ip=0&_=1&ver=1.2",
      body: gzipSync(eventOf(key)),
    },
    "posthog-node, compressed": { path: "/batch/", body: gzipSync(batchOf(key, 5000)), headers: gzip },
    "a batch of 25 kB": { path: "/batch/", body: batch },
    "a batch of 25 kB whose key comes last": { path: "/batch/", body: `{${batched},"api_key":"${key}"}` },
    "a batch of 900 kB": { path: "/batch/", body: batchOf(key, 900_000) },
    "a recording": { path: "/s/?ip=0&_=1&ver=1.2", body: recording },
    "a recording, compressed": {
      path: "/s/?compression=gzip-js&ip=0&_=1&ver=1.2",
      body: gzipSync(recording),
    },
    v1: { path: "/i/v1/analytics/events", body: v1Body(), headers: { authorization: `Bearer ${key}` } },
    "an import of 2 MB": { path: "/batch/", body: batchOf(key, 2_000_000) },
    ...(personal !== undefined && {
      "a PATCH": {
        method: "PATCH",
        path: "/api/projects/1/",
        body: '{"name":"A project"}',
        headers: { authorization: `Bearer ${personal}`, "content-type": "application/json" },
      },
    }),
  };
}

/** The status of each, one after the other. */
export async function statusesOf(
  url: string,
  requests: Record<string, UsualRequest>,
): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const [name, { method = "POST", path, body, headers = {} }] of Object.entries(requests)) {
    const reply = await fetch(url + path, { method, body: body as string, headers });
    await reply.arrayBuffer();
    statuses[name] = reply.status;
  }
  return statuses;
}

function eventOf(key: string, more = "", name = "e"): string {
  return `{"event":"${name}","distinct_id":"d","properties":{"token":"${key}"${more}}}`;
}

/** A batch of about so many bytes. */
export function batchOf(key: string, bytes: number): string {
  const items = Array.from({ length: Math.ceil(bytes / 80) }, () => eventOf(key));
  return `{"api_key":"${key}","batch":[${items.join(",")}]}`;
}

function recordingOf(key: string): string {
  const snapshot = `{"type":3,"timestamp":1700000000000,"data":{"a":"${"x".repeat(30_000)}"}}`;
  return eventOf(key, `,"$session_id":"s","$window_id":"w","$snapshot_data":[${snapshot}]`, "$snapshot");
}

function v1Body(): string {
  const timestamp = "2026-01-01T00:00:00Z";
  const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
  return JSON.stringify({
    created_at: timestamp,
    batch: [{ event: "e", uuid, distinct_id: "d", timestamp, properties: { a: "x".repeat(20_000) } }],
  });
}
