// `sluice doctor` says what is wrong and what to do, and its exit code whether anything is.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { lostKeyRemedy } from "../../src/access/secret.ts";
import { newerRemedy, olderRemedy } from "../../src/core/version.ts";
import { ownDataDir } from "../../src/storage/lock.ts";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { post, projectKey, runSluice, type StartedServer, startServer } from "../support/server.ts";

let server: StartedServer;
beforeAll(async () => {
  server = await startServer();
}, startMsMax);
afterAll(cleanUp);

interface Finding {
  part: string;
  state: string;
  text: string;
  remedy?: string;
}

async function findings(
  environment: Record<string, string>,
): Promise<{ exitCode: number; found: Finding[] }> {
  const { exitCode, stdout } = await runSluice(["doctor", "--json"], environment);
  const lines = stdout.trim().split("\n");
  const found = lines.map((line) => JSON.parse(line) as Finding);
  for (const { state, text, remedy } of found) if (state !== "ok") expect(remedy ?? text).toMatch(command);
  return { exitCode, found };
}

/** Each finding that is not ok ends in a command. */
const command =
  /: (?:[A-Z_]+=(?:\$\(.*\)|\S+) )*(?:bun run sluice [a-z]|curl |mv |du |dd |kill |chmod |chown )[^:]*(?::\/\/[^;]*)?$/;

const own = () => ({ DATA_DIR: server.dataDir, PORT: new URL(server.url).port });

test("beside a server in order every part is ok", async () => {
  const { exitCode, found } = await findings(own());
  expect(found.filter(({ state }) => state !== "ok")).toEqual([]);
  expect(new Set(found.map(({ part }) => part))).toEqual(
    new Set(["settings", "disk", "server", "stores", "journal"]),
  );
  expect(exitCode).toBe(0);
});

test("before the first start there is nothing wrong, and nothing is made", async () => {
  const DATA_DIR = `${makeFolder()}/none`;
  const { exitCode, found } = await findings({ DATA_DIR, PORT: "1" });
  expect(found.map(({ part, state }) => [part, state])).toEqual([
    ["settings", "ok"],
    ["disk", "note"],
    ["server", "note"],
  ]);
  expect(exitCode).toBe(0);
  expect(await Bun.file(`${DATA_DIR}/lock`).exists()).toBe(false);
});

test("a misspelt setting, another port, damaged and quarantined files are found, each with what to do", async () => {
  mkdirSync(`${server.dataDir}/quarantine`, { recursive: true });
  writeFileSync(`${server.dataDir}/quarantine/00000000000000aa.segment`, "");
  writeFileSync(`${server.dataDir}/journal/x.damaged`, "");
  const { exitCode, found } = await findings({ ...own(), PORT: "1", SIT_URL: "https://x.example.com" });
  const wrong = found.filter(({ state }) => state !== "ok");
  expect(wrong.map(({ part, text }) => `${part}: ${text.split(":")[0]}`)).toEqual([
    "settings: SIT_URL is no setting",
    `server: process ${server.pid} serves this DATA_DIR at http`,
    "journal: 1 events are in quarantine",
    "journal: 1 damaged files were set aside",
  ]);
  expect(exitCode).toBe(1);
});

const remoteStores = {
  DATABASE_URL: "postgres://a:b@127.0.0.1:1/c",
  CLICKHOUSE_URL: "http://127.0.0.1:1",
  SECRET_KEY: "a secret key for these tests",
};

test("a store that does not answer is wrong", async () => {
  const { exitCode, found } = await findings({ ...own(), DATA_DIR: makeFolder(), ...remoteStores });
  // Both are named.
  expect(found.find(({ part }) => part === "stores")).toMatchObject({
    state: "wrong",
    text: expect.stringMatching(/DATABASE_URL \(127.0.0.1:1\) .*; CLICKHOUSE_URL \(127.0.0.1:1\) /),
  });
  expect(exitCode).toBe(1);
});

test("a journal that fills is found before it is full, as is that others are refused", async () => {
  const filling = await startServer({ JOURNAL_BYTES_MAX: "1048576", FLUSH_INTERVAL_MS: "3600000" });
  const environment = {
    DATA_DIR: filling.dataDir,
    PORT: new URL(filling.url).port,
    JOURNAL_BYTES_MAX: "1048576",
  };
  const pending = async () =>
    (await findings(environment)).found.filter(({ text }) => text.includes(" wait in "));
  expect(await pending()).toEqual([
    { part: "journal", state: "ok", text: "0 MB wait in the journal, which takes 1 MB" },
  ]);
  const event = { event: "e", distinct_id: "d", properties: { long: "x".repeat(100_000) } };
  for (let status = 200; status === 200;) {
    status = (await post(filling, "/batch/", { api_key: projectKey, batch: [event] })).status;
  }
  expect((await pending()).map(({ state, remedy }) => [state, remedy])).toEqual([
    ["wrong", expect.stringContaining("see why ClickHouse stores less: curl http")],
  ]);
});

test("another program at the port is one", async () => {
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response('"hello"') });
  later(() => other.stop(true));
  const PORT = String(other.port);
  const foundWith = async (DATA_DIR: string) => {
    const { found } = await findings({ DATA_DIR, PORT });
    return found
      .filter(({ part }) => part === "server")
      .map(({ state, text, remedy }) => [state, text, remedy]);
  };
  const text = `another program answers at http://127.0.0.1:${PORT}`;
  expect(await foundWith(`${makeFolder()}/none`)).toEqual([
    ["wrong", text, `stop that program, or: PORT=${other.port! ^ 1} bun run sluice serve`],
  ]);
});

test("a part of a busy server that answers late is ok, and one that never does is wrong", async () => {
  let asked = 0;
  let lateMax = 2;
  const line = () =>
    asked++ < lateMax ? '{"part":"postgres","ok":false,"error":"TIMEOUT"}' : '{"part":"postgres","ok":true}';
  const busy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => new Response(url.endsWith("/_readiness") ? line() : ""),
  });
  later(() => busy.stop(true));
  const foundNow = async () => {
    const { found } = await findings({ DATA_DIR: `${makeFolder()}/none`, PORT: String(busy.port) });
    return found.filter(({ part }) => part === "server").map(({ state, text }) => [state, text]);
  };
  expect(await foundNow()).toEqual([["ok", "postgres is ready"]]);
  [asked, lateMax] = [0, Number.POSITIVE_INFINITY];
  expect(await foundNow()).toEqual([["wrong", "postgres is not ready: TIMEOUT"]]);
});

test("each error of the server, each setting that others can misuse and each lost secret ends in a command", async () => {
  const lines = ["DISK_LOW", "JOURNAL_FULL", "JOURNAL_FAILING", "ECONNREFUSED"].map((error) =>
    JSON.stringify({ part: "journal", ok: false, error }),
  );
  lines.push(JSON.stringify({ part: "clickhouse", ok: true, amiss: "READONLY_1_2" }));
  const other = Bun.serve({ port: 0, hostname: "0.0.0.0", fetch: () => new Response(lines.join("\n")) });
  later(() => other.stop(true));
  const { found } = await findings({
    DATA_DIR: `${makeFolder()}/none`,
    HOST: "0.0.0.0",
    PORT: String(other.port),
    CLICKHOUSE_URL: "http://a:secret@127.0.0.1:1",
  });
  const remedies = found.flatMap(({ remedy }) => remedy ?? []);
  for (const said of [
    "SITE_URL=https://HOST bun",
    "METRICS_TOKEN=$(openssl rand -hex 16) bun",
    "du -sh ",
    "JOURNAL_BYTES_MAX=",
    "dd if=/dev/zero of=",
    "/_readiness",
    "curl http://127.0.0.1:1/replicas_status",
  ])
    expect(remedies.filter((remedy) => remedy.includes(said))).not.toEqual([]);
  expect(remedies.join("")).not.toContain("secret");
  expect(lostKeyRemedy).toMatch(command);
  expect(newerRemedy).toMatch(/: DATA_DIR=NEW bun run sluice restore BACKUP$/);
  expect(olderRemedy).toMatch(command);
});

test("a server at another port is found, with its port and its state", async () => {
  const { exitCode, found } = await findings({ DATA_DIR: server.dataDir, PORT: "1" });
  const port = new URL(server.url).port;
  const parts = found.filter(({ part }) => part === "server");
  expect(parts[0]).toEqual({
    part: "server",
    state: "wrong",
    text: `process ${server.pid} serves this DATA_DIR at ${server.url}, not at PORT 1`,
    remedy: `start the server again with this PORT, or: PORT=${port} bun run sluice doctor`,
  });
  expect(parts.slice(1).map(({ text }) => text)).toContain("postgres is ready");
  expect(exitCode).toBe(1);
});

test("a process that owns the folder and does not answer is to be started again", async () => {
  const DATA_DIR = makeFolder();
  using _ = ownDataDir(DATA_DIR);
  const { exitCode, found } = await findings({ ...remoteStores, DATA_DIR, PORT: "1" });
  expect(found.find(({ part }) => part === "server")).toEqual({
    part: "server",
    state: "wrong",
    text: `none answers at http://127.0.0.1:1, yet process ${process.pid} owns DATA_DIR`,
    remedy: `it starts, or hangs: see its log; to start it again: kill ${process.pid}, then: bun run sluice serve`,
  });
  expect(exitCode).toBe(1);
});

test("a file, or a link that leads nowhere, in the place of DATA_DIR is the only thing wrong, and no start goes on", async () => {
  const folder = makeFolder();
  writeFileSync(`${folder}/file`, "");
  symlinkSync(`${folder}/none`, `${folder}/link`);
  for (const [name, path] of [
    ["file", "file"],
    ["file/below", "file"],
    ["link", "link"],
    ["link/below", "link"],
  ]) {
    const DATA_DIR = `${folder}/${name}`;
    const said =
      `DATA_DIR ${DATA_DIR} cannot be used: ${folder}/${path} is no folder; ` +
      `mount what it links to, set another DATA_DIR, or: mv ${folder}/${path} ${folder}/${path}.old`;
    const { exitCode, found } = await findings({ DATA_DIR, PORT: "1" });
    expect(found.filter(({ state }) => state !== "ok")).toEqual([
      { part: "disk", state: "wrong", text: said },
    ]);
    expect(exitCode).toBe(1);
    expect(await runSluice(["serve"], { DATA_DIR, PORT: "0" })).toMatchObject({
      exitCode: 1,
      stderr: `sluice serve: ${said}\n`,
    });
  }
});

test("a damaged file of the embedded Postgres is wrong, and a restore is what to do", async () => {
  const damaged = await startServer();
  await damaged.end("SIGTERM");
  truncateSync(`${damaged.dataDir}/postgres/global/pg_control`, 100);
  const { exitCode, found } = await findings({ DATA_DIR: damaged.dataDir, PORT: "1" });
  expect(found.filter(({ part }) => part === "stores")).toEqual([
    {
      part: "stores",
      state: "wrong",
      text: expect.stringContaining('could not read file "global/pg_control"'),
      remedy: expect.stringContaining("DATA_DIR=NEW bun run sluice restore BACKUP"),
    },
  ]);
  expect(exitCode).toBe(1);
});

test("a refusal that has its remedy gets no other one", async () => {
  const DATA_DIR = makeFolder();
  mkdirSync(`${DATA_DIR}/journal`);
  writeFileSync(`${DATA_DIR}/journal/identity.json`, "damaged");
  const { exitCode, found } = await findings({ DATA_DIR, PORT: "1" });
  expect(found.filter(({ part }) => part === "stores")).toEqual([
    {
      part: "stores",
      state: "wrong",
      text: expect.stringMatching(
        /identity\.json is damaged .*, or go on with these stores: mv (\S+) \1\.damaged$/,
      ),
    },
  ]);
  expect(exitCode).toBe(1);
});

test("a folder that every start refuses is the only thing wrong, with what to do", async () => {
  const cases = [
    ["restoring", "somewhere\n", "has an incomplete restore: empty it, then: bun run sluice restore BACKUP"],
    [
      "version.json",
      '{"version":"7.0.0","postgres":900,"clickhouse":12}',
      "newer than this program (0.1.0); run that one",
    ],
  ] as const;
  for (const [name, content, said] of cases) {
    const DATA_DIR = makeFolder();
    writeFileSync(`${DATA_DIR}/${name}`, content);
    const { exitCode, found } = await findings({ DATA_DIR, PORT: "1" });
    expect(exitCode).toBe(1);
    expect(found.filter(({ state }) => state !== "ok")).toEqual([
      { part: "disk", state: "wrong", text: expect.stringContaining(said) },
    ]);
  }
});

test("as text it is a page, with what to do under each finding", async () => {
  const { stdout } = await runSluice(["doctor"], { DATA_DIR: `${makeFolder()}/none`, PORT: "1" });
  expect(stdout).toContain("\nok    settings  every setting is known");
  expect(stdout).toContain("\n                → start it: bun run sluice serve\n");
});
