// Clients that wait for 100 Continue before they send a body.

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

/** Sends a head; the body follows when the server says something. Resolves to the lines that it said. */
function sendExpecting(expectation: string): Promise<string[]> {
  const body = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });
  const { hostname, port } = new URL(app.url);
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const socket = connect(Number(port), hostname, () =>
    socket.write(
      `POST /e/ HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n`,
    ),
  );
  let received = "";
  socket.on("data", (piece: Buffer) => {
    if (received === "") socket.write(body);
    received += piece.toString();
  });
  socket.on("close", () => resolve(received.split("\r\n").filter((line) => line.startsWith("HTTP/1.1"))));
  return promise;
}

test.each(["100-continue", "100-Continue", "100-CONTINUE"])(
  "%s is answered before the body",
  async (expectation) => {
    // A search rests for twenty times as long as the one before took.
    for (;;) {
      const lines = await Promise.race([sendExpecting(expectation), Bun.sleep(500)]);
      if (lines === undefined) continue;
      expect(lines).toEqual(["HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"]);
      return;
    }
  },
);
