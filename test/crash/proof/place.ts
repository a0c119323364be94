// Where a proof takes place: stores that outlive the server, a bucket for exports, and servers that are started on one
// folder again and again, some of them under strace.

import { join, resolve } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { type ClickHouse, openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { attachPostgres } from "../../../src/storage/stores.ts";
import { later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { type S3Server, startS3 } from "../../support/s3.ts";
import { projectKey } from "../../support/server.ts";
import { startFront } from "../../support/stores.ts";

/** The command line of the program, without its arguments: this checkout's, unless another one is to be proven. */
let program = [process.execPath, resolve(import.meta.dir, "../../../src/main.ts")];

/** From now on servers are those of the package that is installed in a folder, in the Bun that came with it. */
export function provePackage(folder: string): void {
  const modules = resolve(folder, "node_modules");
  const [bun = ""] = new Bun.Glob("@oven/bun-*/bin/bun").scanSync(modules);
  program = [join(modules, bun), "--no-install", join(modules, "sluice/src/main.ts")];
}

export interface Place {
  dataDir: string;
  startedMs: number;
  environment: Record<string, string>;
  clickhouse: ClickHouse;
  sql: Postgres;
  s3: S3Server;
  start(options?: StartOptions): Running;
}

export interface StartOptions {
  /** A command that runs the server, such as strace with its options. */
  prefix?: string[];
  environment?: Record<string, string>;
}

export interface Running {
  pid: number;
  /** Resolves when it listens; to undefined when it ended before that. */
  url: Promise<string | undefined>;
  exited: Promise<number>;
  logged(): string;
  kill(): void;
  /** Waits until nothing waits in the journal, then ends the server by SIGTERM. */
  finish(): Promise<void>;
}

/** `clickhouseUrl` gives the server's address of ClickHouse when it is to be another than the engine's own. */
export async function openPlace(
  environment: Record<string, string> = {},
  clickhouseUrl: (url: string) => string = (url) => url,
): Promise<Place> {
  const startedMs = Date.now();
  const front = await startFront();
  const postgres = await attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog });
  later(() => postgres.close());
  const clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  const { host, port, user, pass, database } = postgres.sql.options as unknown as Record<string, string>;
  const all = {
    DATABASE_URL: `postgres://${user}:${encodeURIComponent(pass!)}@${host}:${port}/${database}`,
    CLICKHOUSE_URL: clickhouseUrl(front.url),
    SECRET_KEY: "a secret for the proof",
    BOOTSTRAP_PROJECT_API_KEY: projectKey,
    FLUSH_INTERVAL_MS: "50",
    ...environment,
  };
  const dataDir = makeFolder();
  return {
    dataDir,
    startedMs,
    environment: all,
    clickhouse,
    sql: postgres.sql,
    s3: await startS3("proof"),
    start: (options = {}) => start(dataDir, all, options),
  };
}

/** Servers on embedded stores, which end with each of them. */
export async function openEmbeddedPlace(): Promise<Omit<Place, "clickhouse" | "sql">> {
  const environment = {
    SECRET_KEY: "a secret for the proof",
    BOOTSTRAP_PROJECT_API_KEY: projectKey,
    FLUSH_INTERVAL_MS: "50",
  };
  const [startedMs, dataDir, s3] = [Date.now(), await makeStoresFolder(), await startS3("proof")];
  return {
    dataDir,
    startedMs,
    environment,
    s3,
    start: (options = {}) => start(dataDir, environment, options),
  };
}

function start(dataDir: string, all: Record<string, string>, options: StartOptions): Running {
  const { prefix = [], environment = {} } = options;
  const child = Bun.spawn([...prefix, ...program, "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      PORT: "0",
      LOG_FORMAT: "json",
      WORKERS: "1",
      DATA_DIR: dataDir,
      ...all,
      ...environment,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let ended = false;
  void child.exited.then(() => (ended = true));
  const kill = () => {
    if (!ended) child.kill("SIGKILL");
  };
  later(kill);
  const log = { text: "" };
  void collect(child.stderr, log);
  const url = listening(child.stdout);
  const finish = async () => {
    const address = await url;
    if (address === undefined) throw new Error(`the server did not start: ${log.text.slice(-2000)}`);
    while ((await pendingOf(address)) > 0) await Bun.sleep(20);
    child.kill("SIGTERM");
    const code = await child.exited;
    if (code !== 0) throw new Error(`the server ended with ${code}: ${log.text.slice(-2000)}`);
  };
  return { pid: child.pid, url, exited: child.exited, logged: () => log.text, kill, finish };
}

/** Events that are not stored, and stored ones whose sessions are not derived: a stop leaves these to the next start. */
async function pendingOf(url: string): Promise<number> {
  const names = ["sluice_journal_pending_events", "sluice_sessions_pending_events"];
  const counts = await Promise.all(names.map((name) => metricOf(url, name)));
  return counts.reduce((sum, count) => sum + count);
}

export async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** The last part of what a server logs is kept. */
const loggedCharsMax = 1 << 20;

async function collect(stream: ReadableStream<Uint8Array>, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    into.text = (into.text + decoder.decode(chunk, { stream: true })).slice(-loggedCharsMax);
  }
}

async function listening(stdout: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const { promise, resolve: found } = Promise.withResolvers<string | undefined>();
  const read = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of stdout) {
      if (text.length > 100_000) continue;
      text += decoder.decode(chunk, { stream: true });
      const [, url] = /Sluice is listening(?: on |","url":")(http[^"\s]+)["\n]/.exec(text) ?? [];
      if (url) found(url);
    }
    found(undefined);
  };
  void read();
  return await promise;
}
