// What destinations answer, however hostile: a run ends, and what is shown of it holds no secret.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openDestination } from "../../src/batch_exports/destinations/destinations.ts";
import type { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { silentLog } from "../../src/core/log.ts";
import { attachPostgres } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { type ExportProcess, openExportProcess } from "../support/export_process.ts";
import { endedRuns, linesOf } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { storesStartMsMax } from "../support/stores.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

afterAll(cleanUp);

let exports: ExportProcess;
let worker: ExportWorker;
let sink: WebSink;
const token = "phc_a+secret/token=";

beforeAll(async () => {
  exports = await openExportProcess();
  worker = exports.open();
  sink = openWebSink();
}, storesStartMsMax);

const toSink = () => ({ type: "HTTP", config: { url: `${sink.url}/batch` }, secrets: { token } });

test("an answer with a NUL ends a run, and is shown with U+FFFD in its place", async () => {
  sink.answer = () => new Response("no\0 such\u001b[31m key\ufeff", { status: 403 });
  const run = await exports.exported(toSink());
  expect([run.status, run.attempts]).toEqual(["Failed", 1]);
  expect(run.latest_error).toMatch(/^127\.0\.0\.1:\d+ answered 403: no\uFFFD such\uFFFD\[31m key/);
  expect(sink.posted.length).toBe(1);
});

test("a token that is answered is shown neither in a run nor in its log nor to who tries the destination out", async () => {
  const spellings = [
    token,
    encodeURIComponent(token),
    Buffer.from(`key:${token}`).toString("base64"),
    `${"x".repeat(290)}${token.slice(0, 10)}${"y".repeat(5000)}`,
  ];
  for (const spelling of spellings) {
    sink.answer = () => new Response(`unknown: ${spelling}`, { status: 401 });
    const id = await exports.begin(toSink());
    const [run] = await endedRuns(exports.stores, id);
    const refused = await worker.probe(openDestination("HTTP", { url: `${sink.url}/batch` }, { token }), 1);
    const lines = await linesOf(exports.stores, id);
    const shown = [run!.latest_error, refused, ...lines.map(({ message }) => message)].join("\n");
    expect(run!.status).toBe("Failed");
    expect(shown).toContain("answered 401: unknown: ");
    expect(shown).not.toContain(spelling.slice(0, 300));
    expect(shown).not.toContain(token.slice(0, 8));
  }
});

test("neither the user nor the password of a Postgres is shown", async () => {
  const attached = await attachPostgres({ dataDir: makeFolder(), log: silentLog });
  later(() => attached.close());
  const { host, port, database } = attached.sql.options as unknown as {
    host: string[];
    port: number[];
    database: string;
  };
  const config = { host: host[0], port: port[0], database };
  const secrets = { user: "sluice_owner", password: "a-wrong-password" };
  const run = await exports.exported({ type: "Postgres", config, secrets });
  expect([run.status, run.attempts]).toEqual(["Failed", 1]);
  expect(run.latest_error).toContain("[hidden]");
  expect(run.latest_error).not.toMatch(/sluice_owner|a-wrong-password/);
});
