// SECRET_KEY is changed as security.md says, and nothing that was stored is lost.

import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { runSluice, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

const home = "/api/projects/1";
const token = "a token of somebody's server";

async function linkOf(server: Server, insight: number): Promise<unknown> {
  return (await ask(server, "GET", `${home}/insights/${insight}/sharing/`)).body["access_token"];
}

/** Whether the stored secrets of the export are still readable: without them it cannot be changed. */
async function changeExport(server: Server, id: string, name: string): Promise<number> {
  return (await ask(server, "PATCH", `${home}/batch_exports/${id}/`, { name })).status;
}

test("a new key replaces the file's, then another, and links and destinations continue to work", async () => {
  const first = await startServer();
  const { dataDir } = first;
  const source = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "bought" }] };
  const query = { kind: "InsightVizNode", source };
  const insight = Number(
    (await ask(first, "POST", `${home}/insights/`, { name: "Sales", query })).body["id"],
  );
  await ask(first, "PATCH", `${home}/insights/${insight}/sharing/`, { enabled: true });
  const destination = { type: "HTTP", config: { url: "https://example.com/batch/", token } };
  const made = await ask(first, "POST", `${home}/batch_exports/`, {
    name: "E",
    interval: "day",
    paused: true,
    destination,
  });
  const id = String(made.body["id"]);
  const link = await linkOf(first, insight);
  expect([typeof link, await changeExport(first, id, "before")]).toEqual(["string", 200]);
  await first.end("SIGTERM");

  const file = join(dataDir, "secret.key");
  let before = readFileSync(file, "utf8").trim();
  for (const SECRET_KEY of ["the second key of this server", "and the third of them"]) {
    const both = await startServer({ SECRET_KEY, SECRET_KEY_BEFORE: before }, dataDir);
    await until(async () => both.logged().includes("stored secrets are sealed with SECRET_KEY"));
    expect(both.logged()).toContain('"sealed":2');
    expect(both.logged()).not.toContain("no key opens");
    await both.end("SIGTERM");
    rmSync(file, { force: true });
    const alone = await startServer({ SECRET_KEY }, dataDir);
    expect([await linkOf(alone, insight), await changeExport(alone, id, SECRET_KEY)]).toEqual([link, 200]);
    await alone.end("SIGTERM");
    before = SECRET_KEY;
  }

  // Neither the wrong key nor the one of a new file opens them.
  for (const settings of [{ SECRET_KEY: "a key that is one letter away" }, {}]) {
    const stopped = await runSluice(["doctor", "--json"], { ...settings, DATA_DIR: dataDir, PORT: "1" });
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stdout).toContain("no key opens 2 of the stored secrets");
    expect(existsSync(file)).toBe(false);
    const wrong = await startServer(settings, dataDir);
    await until(async () => wrong.logged().includes("no key opens some of the stored secrets"));
    expect(wrong.logged()).toContain('"count":2');
    await wrong.end("SIGTERM");
    rmSync(file, { force: true });
  }
  const own = { SECRET_KEY: before, DATA_DIR: dataDir, PORT: "1" };
  const { stdout } = await runSluice(["doctor", "--json"], own);
  expect(stdout).not.toContain("no key opens");
});

test("the key before is no use without the one that takes its place", async () => {
  const settings = { DATA_DIR: makeFolder(), SECRET_KEY_BEFORE: "the second key of this server" };
  const { exitCode, stderr } = await runSluice(["serve"], settings);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("SECRET_KEY_BEFORE: needs SECRET_KEY")]);
});
