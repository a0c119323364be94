// `sluice doctor` says what is wrong and what to do, and its exit code whether anything is.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { runSluice, type StartedServer, startServer } from "../support/server.ts";

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
  return {
    exitCode,
    found: stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finding),
  };
}

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
    "server: none answers at http",
    "journal: 1 events are in quarantine",
    "journal: 1 damaged files were set aside",
  ]);
  expect(wrong.every(({ remedy }) => remedy !== undefined)).toBe(true);
  expect(exitCode).toBe(1);
});

test("a store that does not answer is wrong", async () => {
  const { exitCode, found } = await findings({
    ...own(),
    DATA_DIR: makeFolder(),
    DATABASE_URL: "postgres://a:b@127.0.0.1:1/c",
    CLICKHOUSE_URL: "http://127.0.0.1:1",
    SECRET_KEY: "a secret key for these tests",
  });
  expect(found.find(({ part }) => part === "stores")).toMatchObject({ state: "wrong" });
  expect(exitCode).toBe(1);
});

test("as text it is a page, with what to do under each finding", async () => {
  const { stdout } = await runSluice(["doctor"], { DATA_DIR: `${makeFolder()}/none`, PORT: "1" });
  expect(stdout).toContain("\nok    settings  every setting is known");
  expect(stdout).toContain("\n                → bun run sluice serve starts it\n");
});
