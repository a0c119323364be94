// PostHog's SDKs, old and new, as their registries have them: each tells the same small story through a proxy that notes
// every request, and what it sent is compared with what the API says afterwards.
//
// Always: posthog-python 3 and 7, posthog-node 3, 4 and 5, posthog-java and posthog-server, posthog-js 1.0, 1.57 and as
// new as this project has it, and the v1 mode of those that have one. With SLUICE_SDKS=all (`bun run test:long`) also
// those that are compiled: posthog-go and posthog-rs in both modes. What is not to be had on a machine is skipped, and
// the test's name says what is missing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { noBrowser, openBrowser, openSite } from "../support/browser.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { openRecordingProxy, type Recorded, type RecordingProxy } from "../support/recording_proxy.ts";
import { type Kit, npmInstall, pipInstall, readyKit, run } from "../support/sdks.ts";
import { isCapture, type SentEvent, sentEvents, v1Path } from "../support/sent_events.ts";
import { get, projectKey, rested, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

interface Program {
  /** In words of letters, digits and `_`: distinct ids begin with it. */
  who: string;
  /** Run in the kit's folder, with HOST KEY WHO behind it. */
  command: readonly string[];
  environment?: Record<string, string>;
  /** How many events there are to come before it may be told to close; it waits for the end of its input. */
  closesAfter?: number;
}

interface Sdk extends Kit {
  programs: readonly Program[];
  /** It takes more than 40 s of CPU to make. */
  isLong?: boolean;
}

/** Chooses the v1 mode of those that have one; `who` says so too. */
const v1 = { POSTHOG_CAPTURE_MODE: "v1" };

function python(version: number): Sdk {
  const name = `python_${version}`;
  const program = { who: name, command: ["python3", "story.py"], environment: { PYTHONPATH: "packages" } };
  const inV1 = { ...program, who: `${name}_v1`, environment: { ...program.environment, ...v1 } };
  return {
    files: [`sdks/${name}/requirements.txt`, `sdks/${name}/story.py`],
    tools: ["python3"],
    install: pipInstall,
    programs: version === 7 ? [program, inV1] : [program],
  };
}

function node(version: number): Sdk {
  const name = `node_${version}`;
  const program = { who: name, command: ["node", "story.mjs"] };
  return {
    files: [`sdks/${name}/package.json`, "sdks/node/story.mjs"],
    tools: ["node", "npm"],
    install: npmInstall,
    programs: version === 5 ? [program, { ...program, who: `${name}_v1`, environment: v1 }] : [program],
  };
}

const mavenPlugin = "org.apache.maven.plugins:maven-dependency-plugin:2.8";

function java(name: string, more: Partial<Program> = {}): Sdk {
  const command = ["java", "-Dfile.encoding=UTF-8", "-cp", "jars/*", "Story.java"];
  return {
    files: [`sdks/${name}/pom.xml`, `sdks/${name}/Story.java`],
    tools: ["java", "mvn"],
    install: ["mvn", "--quiet", "--batch-mode", `${mavenPlugin}:copy-dependencies`, "-DoutputDirectory=jars"],
    programs: [{ who: name, command, ...more }],
  };
}

const go: Sdk = {
  files: ["sdks/go/go.mod", "sdks/go/go.sum", "sdks/go/story.go"],
  tools: ["go"],
  install: ["go", "mod", "download"],
  build: [["go", "build", "-o", "story", "story.go"]],
  programs: [
    { who: "go", command: ["./story"] },
    { who: "go_v1", command: ["./story"], environment: v1 },
  ],
  isLong: true,
};

const cargoBuild = ["cargo", "build", "--quiet"];
const rust: Sdk = {
  files: ["sdks/rust/Cargo.toml", "sdks/rust/story.rs"],
  tools: ["cargo"],
  install: ["cargo", "fetch", "--quiet"],
  // Which mode it is in is compiled in.
  build: [
    cargoBuild,
    ["cp", "target/debug/story", "story"],
    [...cargoBuild, "--features", "v1"],
    ["cp", "target/debug/story", "story_v1"],
    ["rm", "-r", "target"],
  ],
  programs: [
    { who: "rust", command: ["./story"] },
    { who: "rust_v1", command: ["./story_v1"] },
  ],
  isLong: true,
};

const all = process.env["SLUICE_SDKS"] === "all";
const sdks = [
  python(3),
  python(7),
  node(3),
  node(4),
  node(5),
  java("java"),
  java("java_server", { closesAfter: 28 }),
  go,
  rust,
].filter(({ isLong }) => all || !isLong);

function javascript(who: string): Kit {
  return { files: [`sdks/${who}/package.json`], tools: ["npm"], install: npmInstall };
}

let server: Server;
let proxy: RecordingProxy;
let browser: Browser;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  proxy = openRecordingProxy(server.url);
  if (!noBrowser) browser = await openBrowser();
});

const promise = "everything it sends is stored once, as it was sent, and its two ids are one person";

// A test's name says what is missing: it is found out before there are tests.
for (const { programs, ...kit } of sdks) {
  const { folder, missing, problem } = await readyKit(kit);
  for (const { who, command, environment, closesAfter = 0 } of programs) {
    test.skipIf(missing !== "")(
      `${who}: ${promise}${missing && ` (skipped: ${missing})`}`,
      async () => {
        expect(problem).toBe("");
        const { paths, sent, stored } = await compare(async (soFar) => {
          const isThere = () => until(async () => soFar().length >= closesAfter);
          const ran = await run([...command, proxy.url, projectKey, who], folder, environment, isThere);
          expect(ran).toEqual({ exitCode: 0, output: expect.anything() as string });
        });
        expectStory(sent);
        expect([...paths].map((path) => path === v1Path)).toEqual([who.endsWith("_v1")]);
        expect(stored.length).toBe(sent.length);
        const person = await personOf(`${who}-user`);
        expect(person.distinct_ids.toSorted()).toEqual([`${who}-user`, `${who}-visitor`]);
        expect(person.properties).toMatchObject(personProperties);
      },
      300_000,
    );
  }
}

const ownScript = join(import.meta.dir, "../../node_modules/posthog-js/dist/array.js");
const story = readFileSync(join(import.meta.dir, "sdks/js/story.js"), "utf8");

for (const who of ["js_1_0", "js_1_57", "js"]) {
  const isOwn = who === "js";
  const readied = isOwn ? { folder: "", missing: "" } : await readyKit(javascript(who));
  const missing = readied.missing || (noBrowser ? "no chromium on this machine" : "");
  const script = isOwn ? ownScript : join(readied.folder, "node_modules/posthog-js/dist/array.js");
  test.skipIf(missing !== "")(
    `${who}: ${promise}${missing && ` (skipped: ${missing})`}`,
    async () => {
      const known = `const [host, key, who] = ${JSON.stringify([proxy.url, projectKey, who])};`;
      const site = openSite({
        "/": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
          <script>${known}\n${story}</script><script src="/array.js"></script>`,
        "/array.js": Bun.file(script),
        "/elsewhere": "<!doctype html><title>Elsewhere</title><link rel=icon href='data:,'>",
      });
      const context = await browser.newContext();
      const page = await context.newPage();
      const { sent } = await compare(async (soFar) => {
        await page.goto(site.url);
        await until(async () => soFar().filter(({ event }) => event === "bought").length >= 20);
        // Applications wait for flags before they render.
        if (who !== "js_1_0") await page.waitForFunction("window.flagsShown?.length === 0");
        // The first versions say nothing when they go.
        const last = who === "js_1_0" ? "$pageview" : "$pageleave";
        if (last === "$pageleave") await page.goto(`${site.url}/elsewhere`);
        await until(async () => soFar().some(({ event }) => event === last));
      });
      expectStory(sent);
      const person = await personOf(`${who}-user`);
      const visitors = sent.map(({ distinct_id }) => distinct_id);
      expect(new Set(person.distinct_ids)).toEqual(new Set(visitors));
      // The first versions send no time, so that the change that arrives last is the later one.
      const plan = who === "js_1_0" ? expect.stringMatching(/^(free|paid)$/) : personProperties.plan;
      expect(person.properties).toMatchObject({ ...personProperties, plan });
      await context.close();
    },
    300_000,
  );
}

interface Compared {
  /** Where it was sent to. */
  paths: Set<string>;
  sent: SentEvent[];
  stored: ReadEvent[];
}

/** Lets an SDK send, and compares every event it sent with every event that is new on the server. */
async function compare(send: (soFar: () => SentEvent[]) => Promise<void>): Promise<Compared> {
  const before = new Set((await readEvents(server)).map(({ uuid }) => uuid));
  const first = proxy.requests.length;
  const requests = (): Recorded[] => proxy.requests.slice(first).filter(isCapture);
  const soFar = () => requests().flatMap(sentEvents);
  await send(soFar);
  await rested(server);
  expect(requests().filter(({ status }) => status !== 200)).toEqual([]);
  const sent = soFar();
  const stored = (await readEvents(server)).filter(({ uuid }) => !before.has(uuid));
  expect(new Set(stored.map(({ uuid }) => uuid)).size).toBe(stored.length);
  const own = new Set(sent.map(({ uuid }) => uuid));
  const seen = stored.map((event) => comparable(event, own.has(event.uuid)));
  expect(byText(seen)).toEqual(byText(sent.map((event) => comparable(event, event.uuid !== undefined))));
  for (const event of sent) expectTime(event, stored);
  return { paths: new Set(requests().map(({ url }) => url.pathname)), sent, stored };
}

/** What is alike in a sent event and a stored one; the uuid only where the SDK made it. */
function comparable({ uuid, event, distinct_id, properties }: SentEvent | ReadEvent, hasOwn: boolean) {
  return { uuid: hasOwn ? uuid : "the server's", event, distinct_id, properties };
}

function byText<T extends { properties: object }>(events: T[]): T[] {
  const keyed = events.map((event): [string, T] => [textOf(event), event]);
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
}

/** As JSON, whatever the order of its members. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function expectTime(sent: SentEvent, stored: ReadEvent[]): void {
  const text = textOf(sent.properties);
  const same = stored.filter(({ uuid, event, properties }) =>
    sent.uuid === undefined ? event === sent.event && textOf(properties) === text : uuid === sent.uuid,
  );
  const times = same.map(({ timestamp }) => Math.floor(Date.parse(timestamp)));
  // A millisecond more on either side: some clocks are read to the microsecond.
  const isAmong = (time: number) => sent.times.some(([from, to]) => time >= from - 1 && time <= to + 1);
  expect({ sent, times, isAmong: times.some(isAmong) }).toEqual({ sent, times, isAmong: true });
}

/** Each told all of its story. */
function expectStory(sent: SentEvent[]): void {
  const names = sent.map(({ event }) => event);
  for (const name of ["looked", "joined", "renewed", "values"]) {
    expect(names.filter((one) => one === name)).toEqual([name]);
  }
  const numbers = sent
    .filter(({ event }) => event === "bought")
    .map(({ properties }) => properties["number"]);
  expect(numbers.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 20 }, (_, i) => i));
  const values = sent.find(({ event }) => event === "values")!;
  expect(values.properties).toMatchObject({
    text: 'Zoë 🚲 日本語 \u2028 "quoted" \\ \t',
    empty: "",
    zero: 0,
    negative: -12.5,
    large: 9007199254740991,
    small: 1e-7,
    yes: true,
    list: [1, "two", [3]],
    nested: { deep: { deeper: "ü" } },
  });
}

const personProperties = { email: "zoë@example.com", plan: "paid", first: "today" };

interface Person {
  distinct_ids: string[];
  properties: Record<string, unknown>;
}

/** The one person with this distinct id. */
async function personOf(id: string): Promise<Person> {
  const reply = await get(server, `/api/projects/1/persons/?distinct_id=${encodeURIComponent(id)}`);
  const { results } = (await reply.json()) as { results: Person[] };
  expect(results.length).toBe(1);
  return results[0]!;
}
