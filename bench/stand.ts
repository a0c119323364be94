// Starts and ends what is measured: a Sluice server, a bare server, an engine alone. Each has a folder of its own below
// the system's temporary one.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { silentLog } from "../src/core/log.ts";
import { readConnection } from "../src/storage/embedded/connection.ts";
import { migrate } from "../src/storage/migrate.ts";
import { attachStores, openStores, type Stores } from "../src/storage/stores.ts";
import { childOf } from "./process_tree.ts";

export const projectKey = "phc_bench_project_key_0123456789";
export const personalKey = "phx_bench_personal_key_0123456789";

export function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), "sluice-bench-"));
}

let makeBeginning: () => string | Promise<string> = makeFolder;

/** From now on servers and engines start on copies made by this function, not on empty folders. */
export function beginOn(make: () => Promise<string>): void {
  makeBeginning = make;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export interface Stand {
  url: string;
  /** The server's own process. */
  pid: number;
  stop(): Promise<void>;
}

export interface SluiceStand extends Stand {
  dataDir: string;
  /** The process of its ClickHouse. */
  enginePid: number;
  stores: Stores;
  /** Resolves when every accepted event is in ClickHouse; asked every `pollMs`. */
  rested(pollMs?: number): Promise<void>;
  /** Resolves when the sessions of all of them are derived as well; asked every `pollMs`. */
  derived(pollMs?: number): Promise<void>;
  metric(name: string): Promise<number>;
}

/** An answer of the metrics costs the server that is measured 1.2 ms. */
const metricsPollMs = 40;

/** For questions about live events: the setting that users have. */
export const usualFlush: SluiceOptions = { environment: { FLUSH_INTERVAL_MS: "1000" } };

export interface SluiceOptions {
  environment?: Record<string, string>;
  /** Loaded into the server's process before it starts. */
  preload?: string;
  /** Whether its ClickHouse merges parts; by default it does not, so that no round pays for another's. */
  merges?: boolean;
  /** A folder that is kept; by default one that is removed when the server stops. */
  dataDir?: string | undefined;
}

/** A server as users run it, on embedded stores. */
export async function startSluice(options: SluiceOptions = {}): Promise<SluiceStand> {
  const { environment = {}, preload, merges = false } = options;
  const dataDir = options.dataDir ?? (await makeBeginning());
  const main = resolve(import.meta.dir, "../src/main.ts");
  const loaded = preload === undefined ? [] : ["--preload", preload];
  const child = Bun.spawn([process.execPath, ...loaded, main, "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      PORT: "0",
      DATA_DIR: dataDir,
      LOG_LEVEL: "error",
      LOG_FORMAT: "json",
      // Fixed for every machine, since figures of one are compared with those of another.
      WORKERS: "1",
      // Short, so that less of an import's last seconds is spent on waiting for more.
      FLUSH_INTERVAL_MS: "100",
      BOOTSTRAP_PROJECT_API_KEY: projectKey,
      BOOTSTRAP_PERSONAL_API_KEY: personalKey,
      ...environment,
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  const url = await printed(child.stdout, /Sluice is listening(?: on |","url":")(http[^"\s]+)["\n]/);
  const stores = await attachStores({ dataDir, log: silentLog });
  if (!merges) await stores.clickhouse.command("SYSTEM STOP MERGES");
  const metric = async (name: string) => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length + 1));
  };
  return {
    url,
    pid: child.pid,
    dataDir,
    enginePid: childOf(child.pid, "chdb_server/server.ts"),
    stores,
    metric,
    rested: async (pollMs = metricsPollMs) => {
      while ((await metric("sluice_journal_pending_events")) > 0) await Bun.sleep(pollMs);
    },
    derived: async (pollMs = metricsPollMs) => {
      while ((await metric("sluice_sessions_pending_events")) > 0) await Bun.sleep(pollMs);
    },
    stop: async () => {
      await stores.close();
      child.kill("SIGTERM");
      await child.exited;
      if (options.dataDir === undefined) removeFolder(dataDir);
    },
  };
}

export type BareKind = "json" | "bytes" | "synced" | "naive";

export async function startBare(kind: BareKind, clickhouseUrl = ""): Promise<Stand> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "bare.ts"), kind], {
    env: { PATH: process.env["PATH"] ?? "", CLICKHOUSE_URL: clickhouseUrl },
    stdout: "pipe",
    stderr: "inherit",
  });
  const port = await printed(child.stdout, /"port":(\d+)/);
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
  };
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, stop };
}

export interface EngineStand {
  dataDir: string;
  stores: Stores;
  clickhouseUrl: string;
  /** The engine's process. */
  pid: number;
  stop(): Promise<void>;
}

/** The table of events as e0_table.sql keeps it, without the views that derive from it. */
export const tableAlone = "event_rows_alone";

/** The embedded stores without a server before them, with the same tables. */
export async function startEngine(): Promise<EngineStand> {
  const dataDir = await makeBeginning();
  const stores = await openStores({ dataDir, log: silentLog, requireReachable: true });
  await migrate(stores, { log: silentLog });
  await stores.clickhouse.command(await Bun.file(join(import.meta.dir, "e0_table.sql")).text());
  await stores.clickhouse.command("SYSTEM STOP MERGES");
  const stop = async () => {
    await stores.close();
    removeFolder(dataDir);
  };
  const clickhouseUrl = readConnection(dataDir)!.clickhouse_url!;
  return {
    dataDir,
    stores,
    clickhouseUrl,
    pid: childOf(process.pid, "chdb_server/server.ts", dataDir),
    stop,
  };
}

export interface Stored {
  count: string;
  uuids: string;
  properties: string;
}

/** Three numbers that show whether two tables have the same content. */
export async function storedIn({ clickhouse }: Stores, table = "event_rows"): Promise<Stored> {
  const [found] = await clickhouse.query<Stored>(
    `SELECT toString(count()) AS count, toString(uniqExact(uuid)) AS uuids,
       toString(sum(cityHash64(properties))) AS properties FROM ${table}`,
  );
  return found!;
}

/** Empties all tables of events. */
export async function emptyTables({ clickhouse }: Stores): Promise<void> {
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
       AND name NOT LIKE '%migration%' AND name != 'store_identity'`,
  );
  for (const { name } of tables) {
    await clickhouse.command("TRUNCATE TABLE {name:Identifier}", { name }, { timeoutMs: 120_000 });
  }
}

/** The first match of `pattern` in what a child prints. */
async function printed(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  let text = "";
  for await (const chunk of stream.values({ preventCancel: true })) {
    text += new TextDecoder().decode(chunk);
    const found = pattern.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`the server did not start: ${text}`);
}

/** Runs `work` with a server and a folder for bodies, and removes both afterwards. */
export async function withSluice<Result>(
  run: (sluice: SluiceStand, folder: string) => Promise<Result>,
  options: SluiceOptions = {},
): Promise<Result> {
  const folder = makeFolder();
  const sluice = await startSluice(options);
  try {
    return await run(sluice, folder);
  } finally {
    await sluice.stop();
    removeFolder(folder);
  }
}
