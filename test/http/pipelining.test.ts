// Requests sent on one connection without waiting for answers. The runtime closes a connection on which a request
// comes while the one before it waits for its answer: what is behind is not taken, so that it may be sent again.

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

function captureOf(distinct_id: string): string {
  const body = JSON.stringify({ api_key: projectKey, event: "e", distinct_id });
  return `POST /capture/ HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const health = "GET /_health HTTP/1.1\r\nHost: h\r\n\r\n";

/** Sends all of it at once; resolves to what came back, when the server closed or `answers` answers are here. */
function sendAtOnce(text: string, answers: number): Promise<{ answered: number; closed: boolean }> {
  const { hostname, port } = new URL(app.url);
  const { promise, resolve, reject } = Promise.withResolvers<{ answered: number; closed: boolean }>();
  const socket = connect(Number(port), hostname, () => socket.write(text));
  let received = "";
  const answered = () => received.split("HTTP/1.1 200 OK").length - 1;
  socket.on("error", reject);
  socket.on("data", (piece: Buffer) => {
    received += piece.toString();
    if (answered() < answers) return;
    resolve({ answered: answered(), closed: false });
    socket.destroy();
  });
  socket.on("close", () => resolve({ answered: answered(), closed: true }));
  return promise;
}

/** Live events taken so far, once none is under way any more. */
async function taken(): Promise<number> {
  const text = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/^sluice_events_accepted_total\{lane="live"\} (\d+)$/m.exec(text)?.[1]);
}

test("of pipelined captures, none is read before the previous one is answered", async () => {
  const before = await taken();
  const { answered, closed } = await sendAtOnce(["a", "b", "c", "d"].map(captureOf).join(""), 4);
  // An answer of its own says that everything before was committed.
  expect((await sendAtOnce(captureOf("after"), 1)).answered).toBe(1);
  const news = (await taken()) - before - 1;
  expect(closed).toBe(answered < 4);
  // The one that was under way may have been taken: its sender hears nothing, as of any connection that breaks.
  expect(news - answered).toBeGreaterThanOrEqual(0);
  expect(news - answered).toBeLessThanOrEqual(1);
});

test("requests whose answers wait for nothing are answered in order, however they are sent", async () => {
  expect(await sendAtOnce(health.repeat(20), 20)).toEqual({ answered: 20, closed: false });
  expect(await sendAtOnce(health + captureOf("behind"), 2)).toEqual({ answered: 2, closed: false });
});

test("a connection continues with the next request once the answer is here", async () => {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  const before = await taken();
  for (let sent = 0; sent < 3; sent++) {
    const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.write(captureOf(`turn ${sent}`));
    expect((await answer).toString()).toStartWith("HTTP/1.1 200 OK");
  }
  socket.destroy();
  expect((await taken()) - before).toBe(3);
});
