// Chunked bodies with trailers, which the runtime refuses: a refused request leaves nothing behind.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(cleanUp);

/** Sends a chunked event in these parts; resolves to the first line of the answer. */
function sendChunked(path: string, trailer: string, parts: number): Promise<string> {
  const body = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });
  const head = `POST ${path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
  const text = `${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailer}\r\n`;
  const { hostname, port } = new URL(app.url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname, () => {
    const step = Math.ceil(text.length / parts);
    for (let at = 0; at < text.length; at += step) socket.write(text.slice(at, at + step));
  });
  socket.setNoDelay(true);
  let received = "";
  socket.on("data", (piece: Buffer) => void (received += piece.toString()));
  socket.on("close", () => resolve(received.split("\r\n")[0]!));
  return promise;
}

async function accepted(): Promise<number> {
  const text = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/^sluice_events_accepted_total\{lane="live"\} (\d+)$/m.exec(text)?.[1]);
}

test.each(["/e/", "/batch/"])(
  "a request to %s with a trailer is answered, or nothing of it is stored",
  async (path) => {
    for (const trailer of ["X-Checksum: abc\r\n", "Expires: 0\r\nX-Checksum: abc\r\n"]) {
      for (let i = 0; i < 10; i++) {
        const before = await accepted();
        const line = await sendChunked(path, trailer, 1 + (i % 3));
        expect((await accepted()) - before).toBe(line.includes(" 200 ") ? 1 : 0);
      }
    }
  },
);

test("chunks without a trailer are read as ever", async () => {
  const before = await accepted();
  expect(await sendChunked("/e/", "", 2)).toBe("HTTP/1.1 200 OK");
  expect((await accepted()) - before).toBe(1);
});
