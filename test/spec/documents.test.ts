// What the documents name exists: files, settings and metrics.

import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { promiseTests } from "./promises.ts";

afterAll(cleanUp, startMsMax);

const root = resolve(import.meta.dir, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const pages = [
  "README.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  "bench/README.md",
  "bench/proof.md",
  ...["src", "sql"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
].filter((path) => existsSync(join(root, path)));

/** A heading as links name it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s/g, "-");
}

function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));
}

test("links between pages lead somewhere", () => {
  const broken = pages.flatMap((path) =>
    [...textOf(path).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !link.includes("://"))
      .filter((link) => {
        const [file, anchor] = link.split("#");
        const target = file === "" ? path : join(dirname(path), file!);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
      })
      .map((link) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test("files that pages name are there", () => {
  const missing = pages.flatMap((path) =>
    [...textOf(path).matchAll(/`((?:src|test|bench|sql)\/[\w./-]*\w)`/g)]
      .map(([, file]) => file!)
      .filter((file) => !existsSync(join(root, file)))
      .map((file) => `${path}: ${file}`),
  );
  expect(missing).toEqual([]);
});

test("the README's table has every setting, and no others", () => {
  const read = [...textOf("src/config.ts").matchAll(/read\.\w+\("([A-Z][A-Z_]*)"/g)].map(([, name]) => name!);
  const [, table = ""] = /\n## Settings\n(.*?)\n## /s.exec(textOf("README.md")) ?? [];
  const shown = [...table.matchAll(/^\| ([A-Z][A-Z_, ]*) \|/gm)].flatMap(([, names]) => names!.split(", "));
  expect(shown.toSorted()).toEqual([...new Set(read)].toSorted());
});

test("the README fits in 170 lines", () => {
  expect(textOf("README.md").split("\n").length - 1).toBeLessThanOrEqual(170);
});

test(
  "operators' metrics, alert rules and dashboard name what /metrics shows",
  async () => {
    const { url } = await startApp();
    const shown = await (await fetch(`${url}/metrics`)).text();
    const metrics = new Set([...shown.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
    const namedIn = (path: string): string[] =>
      [...textOf(path).matchAll(/\b((?:sluice|process)_[a-z_]+[a-z])\b/g)].map(([, name]) => name!);
    const known = (name: string) => metrics.has(name) || metrics.has(name.replace(/_bucket$/, ""));
    for (const path of [
      "README.md",
      ...["operating.md", "deploy/alerts.yml", "deploy/dashboard.json"].map((name) => `src/docs/${name}`),
    ]) {
      expect(namedIn(path).filter((name) => !known(name))).toEqual([]);
    }
    const told = new Set(namedIn("src/docs/operating.md"));
    expect([...metrics].filter((name) => !told.has(name) && !name.startsWith("process_"))).toEqual([]);
  },
  startMsMax,
);

test("each promise of reliability.md has a number, and a test that there is", () => {
  const promises = textOf("src/docs/reliability.md");
  const wrong = promiseTests.filter(
    ([, path, name]) => !existsSync(join(root, path)) || !textOf(path).includes(`"${name}`),
  );
  expect(wrong).toEqual([]);
  const numbers = [...promises.matchAll(/^(?:- |\| )\*\*(R-\d+)\*\*/gm)].map(([, number]) => number!);
  const tested = promiseTests.flatMap(([some]) => some.split(", "));
  expect(tested.toSorted()).toEqual(numbers.toSorted());
  expect(numbers).toEqual(numbers.map((_, i) => `R-${i + 1}`));
  // What a section promises has a number; the last one lists what is not promised.
  const [promised = ""] = promises.split("\n## What is not promised\n");
  expect(promised.match(/^(?:- |\| )(?!\*\*R-|failure|---)/gm)).toBeNull();
  expect(numbers.length).toBeGreaterThan(25);
});
