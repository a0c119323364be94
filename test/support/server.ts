// A server as its users run it: a process of its own, on stores of its own, spoken to over HTTP.

import { resolve } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import { attachStores, type Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import { makeStoresFolder } from "./made_stores.ts";
import {
  isMade,
  knownRemote,
  type RemoteClickHouse,
  remoteFor,
  settingsOf,
  storesMode,
} from "./remote_clickhouse.ts";

/** The path of this version's program. */
export const ownMain = resolve(import.meta.dir, "../../src/main.ts");

export const projectKey = "phc_test_project_key_0123456789";
export const personalKey = "phx_test_personal_key_0123456789";

export interface Server {
  url: string;
  dataDir: string;
  pid: number;
  /** The remote ClickHouse that the tests gave it. */
  remote?: RemoteClickHouse;
  /** What it printed to standard output so far. */
  printed(): string;
  /** Ends it by `signal`; resolves to its exit code. */
  end(signal: NodeJS.Signals): Promise<number>;
}

export interface StartedServer extends Server {
  /** What it logged so far. */
  logged(): string;
  /** Resolves to its exit code, however it ends. */
  exited: Promise<number>;
}

export type Environment = Record<string, string>;

/**
 * Starts a server and waits until it logs that it listens; by default on prepared stores. It ends with the test file,
 * if not before. `main`: another version's program.
 */
export async function startServer(
  given: Environment = {},
  folder?: string,
  main: string = ownMain,
): Promise<StartedServer> {
  const dataDir = folder ?? (await makeStoresFolder(ownStores(given)));
  const remote = given["CLICKHOUSE_URL"]
    ? undefined
    : await remoteFor(dataDir, folder === undefined || isMade(folder));
  const child = spawnSluice(["serve"], { PORT: "0", DATA_DIR: dataDir, ...given }, undefined, main);
  let ended = false;
  const end = async (signal: NodeJS.Signals) => {
    if (!ended) child.kill(signal);
    ended = true;
    return await child.exited;
  };
  later(() => end("SIGKILL"));
  const output = readLines(child.stdout);
  const log = readLines(child.stderr);
  const url = await output.find(listening);
  if (!url) {
    await child.exited;
    throw new Error(`the server did not start:\n${log.sofar()}`);
  }
  return {
    url,
    dataDir,
    pid: child.pid,
    printed: output.sofar,
    logged: log.sofar,
    end,
    exited: child.exited,
    ...(remote && { remote }),
  };
}

/** Any that listens: a process of its own, or the application in the test's own process. */
export type Listening = Pick<Server, "url">;

/** What a server prints as soon as it listens. */
export const listening = /Sluice is listening(?: on |","url":")(http[^"\s]+)["\n]/;

/** The embedded stores of a server with these settings. */
export function ownStores(environment: Environment): ("postgres" | "clickhouse")[] {
  return [
    ...(environment["DATABASE_URL"] ? [] : (["postgres"] as const)),
    ...(environment["CLICKHOUSE_URL"] || storesMode !== "embedded" ? [] : (["clickhouse"] as const)),
  ];
}

export interface Ran {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Runs one command to its end. */
export async function runSluice(args: string[], environment: Environment, input?: string): Promise<Ran> {
  const child = spawnSluice(args, environment, input);
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

export function spawnSluice(args: string[], environment: Environment, input?: string, main = ownMain) {
  return Bun.spawn(["bun", main, ...args], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      LOG_FORMAT: "json",
      // Not from the machine: the number of workers is equal everywhere.
      WORKERS: "1",
      BOOTSTRAP_PROJECT_API_KEY: projectKey,
      BOOTSTRAP_PERSONAL_API_KEY: personalKey,
      ...settingsOf(knownRemote(environment["DATA_DIR"])),
      ...environment,
    },
    stdin: input === undefined ? "ignore" : new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** What a process prints, as it comes; a pattern that does not come is undefined when the process has ended. */
export function readLines(stream: ReadableStream<Uint8Array>) {
  let text = "";
  let ended = false;
  const waiting = new Set<() => void>();
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      for (const wake of waiting) wake();
    }
    ended = true;
    for (const wake of waiting) wake();
  };
  void read();
  return {
    sofar: () => text,
    find: (pattern: RegExp): Promise<string | undefined> =>
      new Promise((done) => {
        const look = () => {
          const found = pattern.exec(text);
          if (!found && !ended) return;
          waiting.delete(look);
          done(found?.[1]);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** The stores of a running server, for looking at what it did. */
export async function storesOf(server: Pick<Server, "dataDir" | "remote">): Promise<Stores> {
  const stores = await attachStores({ dataDir: server.dataDir, log: silentLog, ...server.remote });
  later(() => stores.close());
  return stores;
}

/** A server whose first project has sent one live event half an hour ago: what comes now is compared with that. */
export async function startWithHistory(environment: Environment = {}): Promise<Server> {
  const first = await startServer(environment);
  const { clickhouse } = await storesOf(first);
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'earlier', 'd', '{}', now() - 1800, now() - 1800`,
  );
  await first.end("SIGTERM");
  return await startServer(environment, first.dataDir);
}

export async function post(
  server: Listening,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: sent as string,
  });
}

export async function get(server: Listening, path: string, key: string = personalKey): Promise<Response> {
  return await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
}

/** One metric's value, labels included in its name, as /metrics shows it. */
export async function metric(server: Listening, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** Waits until every accepted event has left the journal, and its session is derived. */
export async function rested(server: Listening): Promise<void> {
  const pending = ["sluice_journal_pending_events", "sluice_sessions_pending_events"];
  for (const name of pending) await until(async () => (await metric(server, name)) === 0);
}

/** Asks until it is so, less often the longer it takes; a test's own time limit ends what never comes. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let pauseMs = 10; !(await isSo()); pauseMs = Math.min(pauseMs * 1.2, 100)) await Bun.sleep(pauseMs);
}
