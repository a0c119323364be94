// The made-up shop in a server: by the command, by the console's button, and gone again.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { demoName, type DemoProject, makeDemo, type Send } from "../../src/demo/demo.ts";
import { Shop } from "../../src/demo/shop.ts";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { inBrowser, msMax, seriousOf, signedIn } from "../support/console.ts";
import { personalKey, rested, runSluice, startServer } from "../support/server.ts";

cleanUpEach();

let browser: Browser;
beforeAll(async () => {
  if (!noBrowser) browser = await openBrowser();
}, msMax);

const environment = { FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "warn" };

async function listDemos(server: { url: string }): Promise<DemoProject[]> {
  const { body } = await ask(server, "GET", "/api/projects/");
  return (body["results"] as (DemoProject & { name: string })[]).filter(({ name }) => name === demoName);
}

test(
  "`sluice demo` makes a project whose every tile has figures and whose recording is listed, and takes it away",
  async () => {
    const server = await startServer(environment);
    const run = (...more: string[]) =>
      runSluice(["demo", "--host", server.url, "--key", personalKey, ...more], {});
    const made = await run();
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
    await rested(server);
    const [project] = await listDemos(server);
    const home = `/api/projects/${project!.id}`;
    expect(made.stdout).toContain(`${server.url}/#/${project!.id}/overview`);
    const query = { kind: "HogQLQuery", query: "select count(), uniq(uuid) from events" };
    const counted = await ask(server, "POST", `${home}/query/`, { query });
    const [[events, uuids]] = counted.body["results"] as [[number, number]];
    expect(uuids).toBe(events);
    expect(events).toBeGreaterThan(15_000);
    const { body: list } = await ask(server, "GET", `${home}/dashboards/`);
    const [{ id }] = list["results"] as [{ id: number }];
    const { body: board } = await ask(server, "GET", `${home}/dashboards/${id}/?refresh=force_blocking`);
    const tiles = board["tiles"] as { text?: object; insight?: { name: string; result: unknown[] } }[];
    expect(tiles).toHaveLength(7);
    for (const { text, insight } of tiles)
      expect([insight?.name, (text ?? insight?.result?.length) ? "filled" : "empty"]).toEqual([
        insight?.name,
        "filled",
      ]);
    const { body: recordings } = await ask(server, "GET", `${home}/session_recordings/`);
    expect(recordings["results"]).toHaveLength(1);
    const gone = await run("--remove");
    expect([gone.exitCode, gone.stdout.trim()]).toEqual([0, "1 projects are removed"]);
    expect(await listDemos(server)).toEqual([]);
  },
  msMax,
);

test("a server that refuses a body keeps no half of a shop", async () => {
  const asked: string[] = [];
  const send: Send = async <Reply>(method: string, path: string) => {
    asked.push(`${method} ${path}`);
    if (path === "/s/") throw new Error("no recordings here");
    return await Promise.resolve({ id: 7, api_token: "phc_x" } as Reply);
  };
  const now = Date.UTC(2026, 4, 20, 15, 30);
  expect(makeDemo(send, now, () => {})).rejects.toThrow("no recordings here");
  await Bun.sleep(0);
  expect(asked.at(-1)).toBe("DELETE /api/projects/7/");
  expect(asked.filter((request) => request === "POST /batch/")).toHaveLength(
    Math.ceil([...new Shop(now).events()].length / 1000),
  );
});

test(
  "`sluice demo` says in a line what is wrong: no key, no server, a key that is refused",
  async () => {
    const server = await startServer(environment);
    const run = async (...more: string[]) =>
      await runSluice(["demo", ...more], { BOOTSTRAP_PERSONAL_API_KEY: "" });
    expect(await run("--host", server.url)).toMatchObject({ exitCode: 2 });
    const refused = await run("--host", server.url, "--key", "phx_unknown");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toStartWith("sluice demo: /api/projects/ was refused (401)");
    const away = await run("--host", "http://127.0.0.1:1", "--key", personalKey);
    expect([away.exitCode, away.stderr.split("\n").length]).toEqual([1, 2]);
  },
  msMax,
);

inBrowser(
  "Start makes the shop by a button, opens its overview, and removes it",
  async () => {
    const server = await startServer(environment);
    const { page, complaints } = await signedIn(browser, server, "start");
    await page.getByRole("button", { name: "Make a made-up shop" }).click();
    await page.getByText("It is there.").waitFor();
    await rested(server);
    const [project] = await listDemos(server);
    await page.getByRole("link", { name: "Open the made-up shop" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toContain(`/#/${project!.id}/overview`);
    await page.getByText("/products/espresso-cup").first().waitFor();
    await page.goto(`${server.url}/#/${project!.id}/start`);
    await page.getByRole("button", { name: "Remove the made-up shop" }).click();
    await page.getByRole("button", { name: /^Yes, remove/ }).click();
    await page.getByRole("button", { name: "Make a made-up shop" }).waitFor();
    expect(await listDemos(server)).toEqual([]);
    expect(seriousOf(complaints)).toEqual([]);
  },
  msMax,
);
