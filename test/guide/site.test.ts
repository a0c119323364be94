// The operators' pages as a site: every page is there, every link leads somewhere, a search finds their sections.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { guidePages, readSite } from "../../src/guide/site.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { writeSite } from "../support/docs_site.ts";
import { makeFolder } from "../support/folder.ts";

const docs = resolve(import.meta.dir, "../../src/docs");

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp);

const site = readSite("/docs");
const pages = [...site].filter(([path]) => path.endsWith(".html"));

test("each file of the documents is a page, with its title", () => {
  const names = readdirSync(docs).filter((name) => name.endsWith(".md"));
  expect([...guidePages].toSorted()).toEqual(names.map((name) => name.slice(0, -3)).toSorted() as never);
  for (const name of guidePages) {
    const [heading = ""] = readFileSync(join(docs, `${name}.md`), "utf8").split("\n");
    expect(site.get(`${name}.html`)).toContain(`<title>${heading.replace(/^# /, "")} · Sluice</title>`);
  }
  expect(site.get("index.html")).toContain("<title>Sluice</title>");
});

test("every link within the site leads to a page that is there, and to a heading on it", () => {
  for (const [path, html] of pages) {
    for (const [, href = ""] of html.matchAll(/(?:href|src)="([^"]*)"/g)) {
      if (/^https?:/.test(href) || href === "/docs") continue;
      const [file = "", id] = href.split("#", 2);
      const target = site.get(file === "" ? path : file);
      expect([path, href, target !== undefined]).toEqual([path, href, true]);
      if (id !== undefined) expect([path, href, target!.includes(` id="${id}"`)]).toEqual([path, href, true]);
    }
  }
});

test("markup in a document is shown as text", () => {
  for (const [, html] of pages) {
    const scripts = html.match(/<script/g) ?? [];
    expect(scripts).toEqual(["<script"]);
    expect(html).not.toMatch(/ on\w+=/);
  }
});

test("the search has each section with its text and its place", () => {
  const sections = JSON.parse(site.get("search.json")!) as { href: string; heading: string; text: string }[];
  const upgrades = sections.find(({ href }) => href === "operating.html#upgrades");
  expect(upgrades).toMatchObject({ heading: "Upgrades", page: "Operating" });
  expect(upgrades!.text).toContain("sluice migrate --check");
});

test("the server answers with the same files, from where others may not frame them", async () => {
  const first = await fetch(`${app.url}/docs/guide`);
  expect(first.url).toBe(`${app.url}/docs/guide/`);
  expect(await first.text()).toBe(site.get("index.html")!);
  const page = await fetch(`${app.url}/docs/guide/operating.html`);
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(await page.text()).toBe(site.get("operating.html")!);
  const etag = page.headers.get("etag")!;
  const again = await fetch(page.url, { headers: { "if-none-match": etag } });
  expect(again.status).toBe(304);
  const rules = await fetch(`${app.url}/docs/guide/deploy/alerts.yml`);
  expect(rules.headers.get("content-type")).toContain("text/plain");
  for (const path of ["nothing.html", "..%2f..%2fpackage.json", "deploy/"]) {
    expect([path, (await fetch(`${app.url}/docs/guide/${path}`)).status]).toEqual([path, 404]);
  }
});

test("the folder has all files, and no link to the server's page of the API", () => {
  const folder = makeFolder();
  expect(writeSite(folder)).toBe(site.size);
  expect(readFileSync(join(folder, "operating.html"), "utf8")).not.toContain('href="/docs"');
});
