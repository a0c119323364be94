// The package as npm makes and installs it, in a folder that has nothing else, on a PATH without Bun: it serves, keeps an
// event, imports, backs up. It fetches what the package names, so that it runs where npm can.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { cleanUp, later } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { type Ran, run } from "../support/sdks.ts";
import { listening, personalKey, projectKey, until } from "../support/server.ts";

afterAll(cleanUp);

const root = resolve(import.meta.dir, "../..");
const tools = ["npm", "node"].map((name) => Bun.which(name));
const missing = tools.includes(null) ? "no npm on this machine" : "";

// On a disk: it takes a gigabyte.
const folder = mkdtempSync(join(tmpdir(), "sluice-package-"));
const tarballs = join(folder, "tarballs");
const place = join(folder, "place");
const npm = "npm --silent --no-fund --no-audit --fetch-retries=1".split(" ");
/** Without Bun, and with nothing of this process's own. */
const environment = {
  PATH: `${[...new Set(tools.map((path) => path && dirname(path)))].join(":")}:/usr/bin:/bin`,
  DATA_DIR: join(place, "data"),
  LOG_FORMAT: "json",
  BOOTSTRAP_PROJECT_API_KEY: projectKey,
  BOOTSTRAP_PERSONAL_API_KEY: personalKey,
};
let installed: Ran;

beforeAll(async () => {
  if (missing !== "") return;
  later(() => rmSync(folder, { recursive: true, force: true }));
  for (const one of [tarballs, place]) mkdirSync(one);
  const packed = await run([...npm, "pack", "--pack-destination", tarballs], root);
  expect(packed).toMatchObject({ exitCode: 0 });
  const [tarball = ""] = readdirSync(tarballs);
  // Without the scripts of packages, as many set npm.
  installed = await run([...npm, "install", "--ignore-scripts", join(tarballs, tarball)], place);
  if (installed.exitCode !== 0) console.log(`skipped: npm cannot install it\n${installed.output}`);
});

test.skipIf(missing !== "")("packed once more it is the same file", async () => {
  const again = join(folder, "again");
  mkdirSync(again);
  expect(await run([...npm, "pack", "--pack-destination", again], root)).toMatchObject({ exitCode: 0 });
  const [name = ""] = readdirSync(again);
  expect(readFileSync(join(again, name)).equals(readFileSync(join(tarballs, name)))).toBe(true);
});

/** A command line of somebody who has Node and npm. */
function start(line: string, more: Record<string, string> = {}) {
  const child = Bun.spawn(["sh", "-c", `exec ${line}`], {
    cwd: place,
    env: { ...environment, ...more },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  later(() => child.kill("SIGKILL"));
  return child;
}

async function printed(line: string): Promise<string> {
  const child = start(line);
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return text;
}

test.skipIf(missing !== "")("a packed sluice serves, imports and backs up where only npm is", async () => {
  if (installed.exitCode !== 0) return;
  const below = readdirSync(join(place, "node_modules"));
  expect(below.filter((name) => /^(bun|posthog-js|preact|rrweb|swagger-ui-dist)$/.test(name))).toEqual([]);
  expect(await printed("npx sluice --version")).toMatch(versionLine);

  const listed = JSON.parse(readFileSync(join(place, "node_modules/sluice/build/sbom.cdx.json"), "utf8")) as {
    components: { name: string; version: string }[];
  };
  const known = new Set(listed.components.map(({ name, version }) => `${name} ${version}`));
  expect(installedPackages().filter((one) => !known.has(one))).toEqual([]);

  // As a service has it: npx hands no SIGTERM on.
  const server = start("node_modules/.bin/sluice serve", { PORT: "0" });
  const url = await urlOf(server.stdout);
  const pages = [
    "/docs",
    "/docs/assets/swagger-ui-bundle.js",
    "/static/array.js",
    "/console/assets/main.js",
    "/console/assets/player.css",
  ];
  const answers = await Promise.all(pages.map(async (path) => [path, (await fetch(url + path)).status]));
  expect(answers).toEqual(pages.map((path) => [path, 200]));
  const event = { api_key: projectKey, event: "hello", distinct_id: "me" };
  expect((await fetch(`${url}/capture/`, { method: "POST", body: JSON.stringify(event) })).status).toBe(200);
  const named = async () => (await readEvents({ url })).map((one) => one.event).toSorted();
  await until(async () => (await named()).includes("hello"));

  writeFileSync(
    join(place, "old.jsonl"),
    '{"event":"moved","distinct_id":"me","timestamp":"2019-01-01T00:00:00Z"}\n',
  );
  await printed(`npx sluice import old.jsonl --host ${url}`);
  expect(await named()).toEqual(["hello", "moved"]);
  await printed("npx sluice backup kept");
  expect(readdirSync(join(place, "kept"))).toContain("manifest.json");

  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
});

/** Name and version of each package below the folder but our own. */
function installedPackages(): string[] {
  const paths = [...new Bun.Glob("node_modules/**/package.json").scanSync(place)];
  const packages = paths.filter((path) => /node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path));
  const named = packages.map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(place, path), "utf8")) as Record<string, string>;
    return `${name} ${version}`;
  });
  return named.filter((one) => !one.startsWith("sluice "));
}

/** Without its commit where there is no git. */
const versionLine = /^sluice \d+\.\d+\.\d+(?: \([0-9a-f]+ of \d{4}-\d\d-\d\d\))?\n$/;

async function urlOf(stdout: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stdout) {
    text += new TextDecoder().decode(chunk);
    const url = listening.exec(text)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`it does not serve: ${text}`);
}
