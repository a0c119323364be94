// Thousands of connections that announce bodies and do not send them, to a server as users run it. What the usual clients
// of another project send meanwhile is kept, and a phone on a bad line finishes.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { connect } from "node:net";
import { cleanUp } from "../support/cleanup.ts";
import { inLongForm } from "../support/kills.ts";
import { personalKey, projectKey, type Server, startServer } from "../support/server.ts";
import { batchOf, beginBodies, slowSenders, statusesOf, usualRequests } from "../support/slow_senders.ts";

let foreignKey = "";
const counts = inLongForm([200, 1000, 8000], [200]);
/** Connections that this process, and a server that it starts, may have open. */
const filesMax = Number(spawnSync("sh", ["-c", "ulimit -n"]).stdout.toString().trim()) || Infinity;

let server: Server;
beforeAll(async () => {
  server = await startServer({ LOG_LEVEL: "error" });
  const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Another" });
  const made = await fetch(`${server.url}/api/projects/`, { method: "POST", headers, body });
  foreignKey = ((await made.json()) as { api_token: string }).api_token;
  const records = JSON.stringify({ session_recording_opt_in: true });
  await fetch(`${server.url}/api/projects/1/`, { method: "PATCH", headers, body: records });
  // Keys are read again when they change.
  const ready = () => fetch(`${server.url}/batch/`, { method: "POST", body: batchOf(foreignKey, 100) });
  while (!(await ready()).ok) await Bun.sleep(20);
}, 300_000);
afterAll(cleanUp);

const usual = usualRequests(projectKey, personalKey);
const allKept = Object.fromEntries(Object.keys(usual).map((name) => [name, 200]));

for (const count of counts) {
  for (const name of Object.keys(slowSenders(foreignKey))) {
    const title = `${count} bodies that do not come refuse nothing of another project: ${name}`;
    test.skipIf(filesMax < 2 * count + 1000)(
      title,
      async () => {
        const port = Number(new URL(server.url).port);
        const sockets = await beginBodies(port, { count, ...slowSenders(foreignKey)[name]! });
        const phone = slowly(port, batchOf(projectKey, 25_000));
        const until = performance.now() + (count > 200 ? 12_000 : 6000);
        do {
          expect(await statusesOf(server.url, usual)).toEqual(allKept);
          // Usual clients do not keep a core busy.
          await Bun.sleep(100);
        } while (performance.now() < until);
        expect(await phone).toStartWith("HTTP/1.1 200");
        for (const socket of sockets) socket.destroy();
      },
      300_000,
    );
  }
}

/** Sends 5 kB a second; resolves to the answer. */
async function slowly(port: number, body: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const answered = new Promise<string>((resolve) => {
    socket.once("data", (piece) => resolve(String(piece)));
    socket.once("close", () => resolve("closed"));
    socket.on("error", () => {});
  });
  socket.write(`POST /batch/ HTTP/1.1\r\nHost: sluice\r\nContent-Length: ${body.length}\r\n\r\n`);
  for (let at = 0; at < body.length; at += 2500) {
    socket.write(body.slice(at, at + 2500));
    await Bun.sleep(500);
  }
  const answer = await answered;
  socket.destroy();
  return answer;
}
