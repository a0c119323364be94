// Stores for tests, and a ClickHouse front of its own that plays the remote one and can be told to fail.

import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import { chdbServerCommand, chdbServerEnv } from "../../src/storage/embedded/clickhouse.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { openStores, type Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import type { ServerFault } from "./failing_chdb_server.ts";
import { makeFolder } from "./folder.ts";
import { makeStoresFolder } from "./made_stores.ts";
import { isMade, remoteFor } from "./remote_clickhouse.ts";

export const frontPassword = "a password with & and é";

/** How long a first start may take on a busy machine, in ms. */
export const storesStartMsMax = 300_000;

/** Stores on a folder of their own, not migrated unless the folder was made so; closed with the test file. */
export async function openTestStores(dataDir: string = makeFolder()): Promise<Stores> {
  const made = isMade(dataDir);
  const remote = await remoteFor(dataDir, made);
  const stores = await openStores({ dataDir, ...remote, log: silentLog, requireReachable: true });
  later(() => stores.close());
  if (made && remote) await migrate(stores, { log: silentLog });
  return stores;
}

/** Stores that are migrated and empty. */
export async function openMadeStores(): Promise<Stores> {
  return await openTestStores(await makeStoresFolder());
}

export interface TestFront {
  /** As CLICKHOUSE_URL says it. */
  url: string;
  port: number;
  pid: number;
  /** Arms a fault. */
  fault(fault: Partial<ServerFault> & Pick<ServerFault, "kind">): Promise<void>;
  /** Disarms all. */
  clear(): Promise<void>;
  /** How many statements were struck. */
  struck(): Promise<number>;
  /** Resolves when the process is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
  /** Resolves when the process is gone by itself, to its exit code. */
  ended: Promise<number>;
}

/**
 * Starts ClickHouse as a process of its own; ends with the test file, if not before. No file of it grows beyond
 * `fileKiB`: a write beyond that fails with EFBIG, as it fails with ENOSPC on a full disk.
 */
export async function startFront(
  dataDir: string = makeFolder(),
  port = 0,
  fileKiB?: number,
): Promise<TestFront> {
  const args = ["--data-dir", dataDir, "--port", String(port), "--password", frontPassword];
  const bounded = ["bash", "-c", `trap "" XFSZ; ulimit -f ${fileKiB}; exec "$@"`, "bash"];
  const child = Bun.spawn(
    [...(fileKiB === undefined ? [] : bounded), ...chdbServerCommand(args, failingServer)],
    {
      env: chdbServerEnv(),
      cwd: dataDir,
      stdin: "ignore",
      stdout: "pipe",
    },
  );
  const end = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    child.kill(signal);
    await child.exited;
  };
  later(() => end("SIGKILL"));
  const listening = await portsOf(child.stdout);
  const control = `http://127.0.0.1:${listening.control}/`;
  return {
    url: `http://default:${encodeURIComponent(frontPassword)}@127.0.0.1:${listening.port}/sluice`,
    port: listening.port,
    pid: child.pid,
    fault: async (fault) => void (await fetch(control, { method: "POST", body: JSON.stringify(fault) })),
    clear: async () => void (await fetch(control, { method: "DELETE" })),
    struck: async () => ((await (await fetch(control)).json()) as { struck: number }).struck,
    end,
    ended: child.exited,
  };
}

const failingServer = join(import.meta.dir, "failing_chdb_server.ts");

/** The ports of the server's first two lines. */
async function portsOf(stdout: ReadableStream<Uint8Array>): Promise<{ control: number; port: number }> {
  const reader = stdout.getReader();
  const decoder = new TextDecoder();
  let printed = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    printed += decoder.decode(read.value, { stream: true });
    const [control, port, rest] = printed.split("\n");
    if (control && port && rest !== undefined) return { ...JSON.parse(control), ...JSON.parse(port) };
  }
  throw new Error(`the server ended before it listened: ${printed}`);
}

/** A request to a ClickHouse as any client would make it. */
export async function askClickHouse(
  url: string,
  search: Record<string, string>,
  init: RequestInit = {},
): Promise<Response> {
  const { host, username, password } = new URL(url);
  const authorization = `Basic ${Buffer.from(`${username}:${decodeURIComponent(password)}`).toString("base64")}`;
  const headers = new Headers(init.headers);
  headers.set("authorization", authorization);
  return fetch(`http://${host}/?${new URLSearchParams(search)}`, { method: "POST", ...init, headers });
}

/** What a SELECT answers in Native: what an INSERT takes. */
export async function nativeOf(url: string, select: string): Promise<Uint8Array> {
  const response = await askClickHouse(url, { default_format: "Native" }, { body: select });
  return new Uint8Array(await response.arrayBuffer());
}
