// The snippets of the console's first page, each followed with the real SDK: its first event arrives. What is not to be
// had on a machine is skipped, and the test's name says what is missing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSnippets } from "../../src/console/app/start/snippets.ts";
import { noBrowser, openBrowser, openSite, visit } from "../support/browser.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { makeFolder } from "../support/folder.ts";
import { type Machine, openMachine } from "../support/readme.ts";
import { pipInstall, type Readied, readyKit, run } from "../support/sdks.ts";
import { projectKey, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

const msMax = 300_000;

let server: Server;
let machine: Machine;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  machine = openMachine();
}, msMax);

const textOf = (name: string): string =>
  writeSnippets(server.url, projectKey).find((snippet) => snippet.name === name)!.text;

/** The only event that fits, once it can be read. */
async function arrived(fits: (event: ReadEvent) => boolean, event = "hello"): Promise<ReadEvent> {
  let found: ReadEvent[] = [];
  await until(async () => (found = (await readEvents(server, { event })).filter(fits)).length > 0);
  expect(found).toHaveLength(1);
  return found[0]!;
}

const sentBy =
  (lib: string) =>
  ({ properties }: ReadEvent): boolean =>
    properties["$lib"] === lib;

async function follow(text: string): Promise<void> {
  const { exitCode, stdout, stderr } = await machine.run(text, {});
  expect({ exitCode, output: exitCode === 0 ? "" : stdout + stderr }).toEqual({ exitCode: 0, output: "" });
}

/** Opens a page in a browser that does not say that a test drives it: posthog-js takes those for bots. */
async function open(pages: Record<string, string | Blob>): Promise<void> {
  const isNobody = `<script>Object.defineProperty(navigator, "webdriver", { get: () => false })</script>`;
  const { url } = openSite({
    ...pages,
    "/": `<!doctype html><link rel="icon" href="data:,">${isNobody}${pages["/"] as string}`,
  });
  const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0";
  const { complaints } = await visit(await openBrowser(), url, { userAgent });
  await until(async () => (await readEvents(server, { event: "$pageview" })).length > 0);
  expect(complaints).toEqual([]);
}

/** The same kits as those of sdk_matrix.test.ts, which are installed once. */
const isLong = process.env["SLUICE_SDKS"] === "all";
const python = await readyKit({
  files: ["sdks/python_7/requirements.txt", "sdks/python_7/story.py"],
  tools: ["python3"],
  install: pipInstall,
});
const golang: Readied = isLong
  ? await readyKit({
      files: ["sdks/go/go.mod", "sdks/go/go.sum", "sdks/go/story.go"],
      tools: ["go"],
      install: ["go", "mod", "download"],
      build: [["go", "build", "-o", "story", "story.go"]],
    })
  : { folder: "", missing: "compiled with SLUICE_SDKS=all only", problem: "" };

interface Follower {
  /** Why it cannot be followed here. */
  missing?: string;
  follow(text: string): Promise<unknown>;
}

const noChromium = noBrowser ? { missing: "no chromium" } : {};

const followers: Record<string, Follower> = {
  "Web page": {
    ...noChromium,
    follow: async (text) => {
      await open({ "/": text });
      await arrived((event) => sentBy("web")(event) && event.properties["plan"] === undefined);
    },
  },
  JavaScript: {
    ...noChromium,
    follow: async (text) => {
      const file = join(machine.folder, "page.mjs");
      writeFileSync(file, text);
      const built = await Bun.build({ entrypoints: [file], target: "browser" });
      expect(built.success).toBe(true);
      await open({ "/": `<script type="module" src="/page.js"></script>`, "/page.js": built.outputs[0]! });
      await arrived((event) => sentBy("web")(event) && event.properties["plan"] === "free");
    },
  },
  Node: {
    follow: async (text) => {
      writeFileSync(join(machine.folder, "hello.mjs"), text);
      await follow('"$BUN" hello.mjs');
      expect(await arrived(sentBy("posthog-node"))).toMatchObject({ distinct_id: "me" });
    },
  },
  Python: {
    missing: python.missing,
    follow: async (text) => {
      const program = join(makeFolder(), "hello.py");
      writeFileSync(program, text);
      const { exitCode, output } = await run(["python3", program], python.folder, {
        PYTHONPATH: join(python.folder, "packages"),
      });
      expect([exitCode, exitCode === 0 ? "" : output]).toEqual([0, ""]);
      expect(await arrived(sentBy("posthog-python"))).toMatchObject({ distinct_id: "me" });
    },
  },
  Go: {
    missing: golang.missing,
    follow: async (text) => {
      expect(golang.problem).toBe("");
      const folder = makeFolder();
      for (const name of ["go.mod", "go.sum"]) copyFileSync(join(golang.folder, name), join(folder, name));
      writeFileSync(join(folder, "main.go"), text);
      const { exitCode, output } = await run(["go", "run", "main.go"], folder);
      expect([exitCode, exitCode === 0 ? "" : output]).toEqual([0, ""]);
      expect(await arrived(sentBy("posthog-go"))).toMatchObject({ distinct_id: "me" });
    },
  },
  curl: {
    follow: async (text) => {
      await follow(text);
      const bare = ({ properties }: ReadEvent) => Object.keys(properties).length === 0;
      expect(await arrived(bare)).toMatchObject({ distinct_id: "me" });
    },
  },
  Import: {
    follow: async (text) => {
      const file = join(makeFolder(), "events.jsonl");
      const line = { event: "moved in", distinct_id: "me", timestamp: "2019-01-01T00:00:00Z" };
      writeFileSync(file, `${JSON.stringify(line)}\n`);
      await follow(text.replace("FILE", file));
      expect(await arrived(() => true, "moved in")).toMatchObject({ timestamp: "2019-01-01T00:00:00Z" });
    },
  },
};

test("each snippet is followed here", () => {
  expect(Object.keys(followers)).toEqual(writeSnippets("", "").map(({ name }) => name));
});

for (const [name, { missing = "", follow: act }] of Object.entries(followers)) {
  const title = `${name}: who copies the snippet sees the first event`;
  test.skipIf(missing !== "")(
    missing === "" ? title : `${title} (${missing})`,
    () => act(textOf(name)),
    msMax,
  );
}
