// The server's start and stop, as an operator meets them.

import { expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import { gitCommit } from "../../src/core/version.ts";
import { readConnection } from "../../src/storage/embedded/connection.ts";
import { attachPostgres } from "../../src/storage/stores.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import {
  type Environment,
  get,
  metric,
  ownMain,
  personalKey,
  post,
  projectKey,
  rested,
  runSluice,
  spawnSluice,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";

cleanUpEach();

/** A port on loopback that nobody listens on: taken, and given back. */
function closedPort(): number {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = Number(server.port);
  void server.stop(true);
  return port;
}

async function failedStart(environment: Environment): Promise<string> {
  const { exitCode, stdout, stderr } = await runSluice(["serve"], {
    DATA_DIR: makeFolder(),
    PORT: "0",
    ...environment,
  });
  expect([exitCode, stdout]).toEqual([1, ""]);
  return stderr.trim();
}

test("every wrong variable is named in one message", async () => {
  const message = await failedStart({
    PORT: "99999",
    CAPTURE_ACK: "maybe",
    FLUSH_INTERVAL_MS: "fast",
    DATABASE_URL: "mysql://root:secret@localhost/x",
    BODY_BYTES_MAX: "-1",
    CLICKHOUSE_CLUSTER: "main",
    EMAIL_FROM: "Reports <nobody>",
    LOG_LEVEL: "loud",
    SECRET_KEY: "too short",
  });
  const names = [
    "PORT",
    "CAPTURE_ACK",
    "FLUSH_INTERVAL_MS",
    "DATABASE_URL",
    "BODY_BYTES_MAX",
    "CLICKHOUSE_CLUSTER",
    "EMAIL_FROM",
    "LOG_LEVEL",
    "SECRET_KEY",
  ];
  for (const name of names) expect(message).toContain(`\n  ${name}: `);
  expect(message).not.toContain("secret");
});

test("commands that look make no database where no server has ever started", async () => {
  const dataDir = `${makeFolder()}/misspelt`;
  for (const args of [
    ["project", "list"],
    ["key", "list"],
  ]) {
    const { exitCode, stderr } = await runSluice(args, { DATA_DIR: dataDir });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`no server has ever started on DATA_DIR ${dataDir}`);
  }
  expect(existsSync(dataDir)).toBe(false);
});

test("--version prints the version of package.json and the commit of the checkout", async () => {
  const { exitCode, stdout } = await runSluice(["--version"], {});
  const { version } = (await Bun.file(`${import.meta.dir}/../../package.json`).json()) as { version: string };
  const commit = gitCommit();
  expect([exitCode, stdout]).toEqual([0, `sluice ${version}${commit && ` (${commit})`}\n`]);
});

test("a port in use is one clear line", async () => {
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  later(() => other.stop(true));
  const message = await failedStart({ PORT: String(other.port), LOG_LEVEL: "error" });
  expect(message).toBe(
    `sluice serve: cannot listen on 127.0.0.1:${other.port}: it is in use; set PORT to another: ` +
      `PORT=${other.port! ^ 1} bun run sluice serve`,
  );
});

test("a missing folder for exports is logged at the start", async () => {
  const EXPORT_FILE_DIR = `${makeFolder()}/not-mounted`;
  const settings = { DATA_DIR: makeFolder(), PORT: "0", LOG_LEVEL: "warn", EXPORT_FILE_DIR };
  const child = spawnSluice(["serve"], settings);
  later(() => child.kill("SIGKILL"));
  const { value } = await child.stderr.getReader().read();
  const [warning = ""] = new TextDecoder().decode(value).split("\n");
  expect(JSON.parse(warning)).toMatchObject({ level: "warn", exportFileDir: EXPORT_FILE_DIR });
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});

test("a second server does not share the port of the first", async () => {
  const { port } = new URL((await startServer()).url);
  const message = await failedStart({ PORT: port, LOG_LEVEL: "error" });
  expect(message).toStartWith(
    `sluice serve: cannot listen on 127.0.0.1:${port}: it is in use; set PORT to another: PORT=`,
  );
});

test("a data folder owned by another server is one clear line", async () => {
  const server = await startServer();
  const { exitCode, stderr } = await runSluice(["serve"], { DATA_DIR: server.dataDir, PORT: "0" });
  expect(exitCode).toBe(1);
  expect(stderr.trim()).toMatch(
    new RegExp(`^sluice serve: DATA_DIR \\S+ is in use by process ${server.pid}\\b.*$`),
  );
  await server.end("SIGTERM");
});

test("a data folder that others may read has no file or folder that they may", async () => {
  const dataDir = makeFolder();
  chmodSync(dataDir, 0o755);
  const server = await startServer({}, dataDir);
  await post(server, "/capture/", { api_key: projectKey, event: "e", distinct_id: "d" });
  await rested(server);
  const names = readdirSync(dataDir, { recursive: true, encoding: "utf8" });
  expect(names.length).toBeGreaterThan(500);
  const folders = readdirSync(dataDir).filter((name) => (statSync(join(dataDir, name)).mode & 0o077) !== 0);
  expect(folders).toEqual([]);
  const open = names.filter((name) => {
    const entry = lstatSync(join(dataDir, name), { throwIfNoEntry: false });
    return entry !== undefined && !entry.isSymbolicLink() && (entry.mode & 0o007) !== 0;
  });
  expect(open).toEqual([]);
});

test("a data folder that cannot be made is one clear line", async () => {
  expect(await failedStart({ DATA_DIR: "/proc/nowhere/data" })).toMatch(
    /^sluice serve: DATA_DIR \/proc\/nowhere\/data cannot be used: .+$/,
  );
});

test("stores that cannot be reached end the first start with one line that shows no password", async () => {
  const port = closedPort();
  for (const [name, url] of [
    ["DATABASE_URL", `postgres://sluice:secret@127.0.0.1:${port}/sluice`],
    ["CLICKHOUSE_URL", `http://sluice:secret@127.0.0.1:${port}/sluice`],
  ] as const) {
    const message = await failedStart({
      [name]: url,
      SECRET_KEY: "a secret key for a test",
      LOG_LEVEL: "error",
    });
    expect(message.split("\n").length).toBe(1);
    expect(message).toContain(name);
    expect(message).toContain(`127.0.0.1:${port}`);
    expect(message).not.toContain("secret@");
  }
});

test("a later start without its stores captures from the saved keys, says 503, and flushes when they are back", async () => {
  const lender = await startServer();
  const { sql, clickhouse } = await storesOf(lender);
  await sql`CREATE DATABASE another`;
  const connection = readConnection(lender.dataDir);
  const remote = {
    DATABASE_URL: (connection?.database_url ?? "").replace(/\/\w+$/, "/another"),
    CLICKHOUSE_URL: (connection?.clickhouse_url ?? "").replace(/\/\w+$/, "/another"),
    SECRET_KEY: "a secret key for a test",
  };
  const first = await startServer(remote);
  expect(
    (await post(first, "/capture/", { api_key: projectKey, event: "early", distinct_id: "d" })).status,
  ).toBe(200);
  await rested(first);
  expect(await first.end("SIGTERM")).toBe(0);
  const away = `127.0.0.1:${closedPort()}`;
  const elsewhere = {
    ...remote,
    DATABASE_URL: remote.DATABASE_URL.replace(/127\.0\.0\.1:\d+/, away),
    CLICKHOUSE_URL: remote.CLICKHOUSE_URL.replace(/127\.0\.0\.1:\d+/, away),
  };
  const second = await startServer(elsewhere, first.dataDir);
  expect((await fetch(`${second.url}/_readiness`)).status).toBe(503);
  expect((await fetch(`${second.url}/_health`)).status).toBe(200);
  expect(
    (await post(second, "/capture/", { api_key: projectKey, event: "late", distinct_id: "d" })).status,
  ).toBe(200);
  const unknown = await post(second, "/capture/", {
    api_key: "phc_unknown_key_here",
    event: "e",
    distinct_id: "d",
  });
  expect([unknown.status, unknown.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  await second.end("SIGKILL");
  const third = await startServer(remote, first.dataDir);
  await rested(third);
  const rows = await clickhouse.query<{ event: string }>("SELECT event FROM another.events ORDER BY event");
  expect(rows.map(({ event }) => event)).toEqual(["early", "late"]);
  expect((await fetch(`${third.url}/_readiness`)).status).toBe(200);
});

test("SIGTERM answers what is in flight, flushes and exits 0; the next start finds everything stored and prints no key", async () => {
  const first = await startServer({ FLUSH_INTERVAL_MS: "60000" });
  expect(first.printed()).not.toContain(projectKey);
  expect(first.printed()).not.toContain(personalKey);
  const replies = Array.from({ length: 20 }, (_, i) =>
    post(first, "/batch/", { api_key: projectKey, batch: [{ event: "last words", distinct_id: `d${i}` }] }),
  );
  expect((await Promise.all(replies)).every((reply) => reply.status === 200)).toBe(true);
  // A runner in between often hands the same signal on once more.
  process.kill(first.pid, "SIGTERM");
  expect(await first.end("SIGTERM")).toBe(0);
  const second = await startServer({}, first.dataDir);
  expect(await metric(second, "sluice_journal_pending_events")).toBe(0);
  const reply = await get(second, "/api/projects/1/events/?event=last%20words&limit=1");
  expect(((await reply.json()) as { count: number }).count).toBe(20);
  expect(second.printed().trim().split("\n").length).toBe(1);
  expect(existsSync(`${first.dataDir}/journal/keys.json`)).toBe(true);
});

const ownKeys = { BOOTSTRAP_PROJECT_API_KEY: "", BOOTSTRAP_PERSONAL_API_KEY: "" };

test("JSON lines hold no personal key, name the command that issues one, and are all JSON", async () => {
  const server = await startServer(ownKeys);
  const lines = server.printed().trim().split("\n");
  const [greeting] = lines.map((line) => JSON.parse(line) as Record<string, string>);
  expect(greeting).toMatchObject({
    url: server.url,
    project_api_key: expect.stringMatching(/^phc_/),
    personal_api_key: expect.stringContaining("sluice key issue --label me --scopes"),
  });
  expect(server.printed()).not.toMatch(/phx_/);
});

test("a first start on a taken port makes nothing, and the next start shows its keys", async () => {
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  later(() => other.stop(true));
  const dataDir = makeFolder();
  const message = await failedStart({ ...ownKeys, PORT: String(other.port), DATA_DIR: dataDir });
  expect(message).toContain("it is in use; set PORT to another");
  expect(readdirSync(dataDir)).toEqual([]);
  const server = await startServer({ ...ownKeys, LOG_FORMAT: "pretty" }, dataDir);
  const key = /phx_\w{40,}/.exec(server.printed())?.[0] ?? "";
  expect((await get(server, "/api/projects/", key)).status).toBe(200);
});

test("a start that ended before it served has shown its key to nobody: the next one shows another", async () => {
  const dataDir = makeFolder();
  const first = await startServer({ ...ownKeys, LOG_FORMAT: "pretty" }, dataDir);
  const shown = /phx_\w{40,}/.exec(first.printed())?.[0] ?? "";
  const { sql } = await storesOf(first);
  await until(async () => (await sql`SELECT FROM first_starts WHERE served_at IS NOT NULL`).length === 1);
  await sql`UPDATE first_starts SET served_at = NULL`;
  await first.end("SIGTERM");
  const second = await startServer({ ...ownKeys, LOG_FORMAT: "pretty" }, dataDir);
  const again = /phx_\w{40,}/.exec(second.printed())?.[0] ?? "";
  expect((await get(second, "/api/projects/", shown)).status).toBe(401);
  expect((await get(second, "/api/projects/", again)).status).toBe(200);
  expect(second.printed()).toContain("phc_");
});

test("a Postgres that fails right after a first start ends no server, which records later that its keys were shown", async () => {
  const dataDir = await makeStoresFolder();
  const postgres = await attachPostgres({ dataDir, log: silentLog });
  // Twice the connection ends instead. What a sequence counts stays.
  await postgres.sql`CREATE SEQUENCE attempts`;
  await postgres.sql`
    CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('attempts') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
      RETURN NEW;
    END $$`;
  await postgres.sql`
    CREATE TRIGGER end_connection BEFORE UPDATE OF served_at ON first_starts
    FOR EACH ROW EXECUTE FUNCTION end_connection()`;
  await postgres.close();
  const server = await startServer(ownKeys, dataDir);
  const { sql } = await storesOf(server);
  const isServed = async () => (await sql`SELECT FROM first_starts WHERE served_at IS NOT NULL`).length === 1;
  await until(isServed);
  expect((await sql`SELECT last_value FROM attempts`)[0]).toEqual({ last_value: 3 });
  const warnings = server
    .logged()
    .split("\n")
    .filter((line) => line.includes("the first keys were shown"));
  expect(warnings.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: "warn", attempt: 0 }]);
  expect(await server.end("SIGTERM")).toBe(0);
});

test("a first start without keys of its own prints both, and a curl line that works when pasted", async () => {
  const server = await startServer({ ...ownKeys, LOG_FORMAT: "pretty" });
  const key = /phx_\w{40,}/.exec(server.printed())?.[0] ?? "";
  const curl = server.printed().slice(server.printed().indexOf("curl "));
  const pasted = Bun.spawnSync(["sh", "-c", curl]);
  expect(pasted.stdout.toString()).toBe(`{"status":"Ok"}`);
  await rested(server);
  const reply = await get(server, "/api/projects/1/events/", key);
  expect(((await reply.json()) as { count: number }).count).toBe(1);
});

test("signals of reloads and log rotations change nothing, and are logged", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "60000" });
  for (const signal of ["SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
    process.kill(server.pid, signal);
    await until(async () => server.logged().includes(`"signal":"${signal}"`));
  }
  expect((await fetch(`${server.url}/_health`)).status).toBe(200);
  expect(await server.end("SIGTERM")).toBe(0);
});

test("a misspelt setting is logged at the start, other variables are not", async () => {
  const server = await startServer({ POTR: "1", EVENT_RETENTION_DAY: "9", PORTAL: "x", POST_BODY: "x" });
  const lines = server
    .logged()
    .split("\n")
    .filter((line) => line.includes("resembles a setting"));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { name: "POTR", setting: "PORT" },
    { name: "EVENT_RETENTION_DAY", setting: "EVENT_RETENTION_DAYS" },
  ]);
  await server.end("SIGTERM");
});

test("a server whose PATH has nothing but Bun starts its stores, as root too", async () => {
  const folder = makeFolder();
  symlinkSync(process.execPath, join(folder, "bun"));
  const server = await startServer({ PATH: folder });
  await until(async () => (await fetch(`${server.url}/_readiness`)).status === 200);
  expect(await server.end("SIGTERM")).toBe(0);
});

const noCache = { BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, ownMain];

/** Only root can become nobody, who may not read a checkout in root's home. */
function hasNobody(): boolean {
  if (process.getuid?.() !== 0 || Bun.which("setpriv") === null) return false;
  return Bun.spawnSync([...asNobody, "--version"], { env: noCache }).exitCode === 0;
}

test.skipIf(!hasNobody())(
  "a data folder that this user may not write, or whose Postgres it may not read, is one line that says so",
  async () => {
    const folder = makeFolder();
    chmodSync(folder, 0o755);
    const failed = async (): Promise<string> => {
      const env = { ...noCache, DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error" };
      const child = Bun.spawn([...asNobody, "serve"], { env, stdout: "ignore", stderr: "pipe" });
      const text = await new Response(child.stderr).text();
      expect(await child.exited).toBe(1);
      return text.trim();
    };
    expect(await failed()).toBe(
      `sluice serve: DATA_DIR ${folder} cannot be used: EACCES: permission denied, access '${folder}'; ` +
        `set another one, or let this user write it: chown -R USER ${folder}`,
    );
    chmodSync(folder, 0o777);
    mkdirSync(join(folder, "postgres"), { mode: 0o700 });
    expect(await failed()).toContain(`${folder}/postgres cannot be read (EACCES: permission denied`);
  },
);

test("a server tells how long ago each journal's server reported, and that one of them is gone", async () => {
  const server = await startServer();
  const { sql } = await storesOf(server);
  await sql`
    INSERT INTO journals (id, name, seen_at) OVERRIDING SYSTEM VALUE
    VALUES (1000, 'of another', now() - interval '5 minutes')`;
  const silence = async () => await metric(server, 'sluice_journal_silence_seconds{journal="of another"}');
  await until(async () => (await silence()) >= 300);
  const lines = (await (await fetch(`${server.url}/_readiness`)).text()).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual({
    part: "postgres",
    ok: true,
    amiss: "servers of 1 journals do not report",
  });
  await server.end("SIGTERM");
});
