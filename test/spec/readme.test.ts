// Every snippet of the README is followed: against a real server where it speaks to one, in stand-ins where it would
// install or build something. A snippet that nobody follows here is a failure.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { noBrowser, openBrowser, openSite, visit } from "../support/browser.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { makeFolder } from "../support/folder.ts";
import {
  asReadBy,
  type Machine,
  openMachine,
  type Reader,
  readme,
  root,
  type Snippet,
  snippetsOf,
} from "../support/readme.ts";
import { personalKey, projectKey, rested, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

const snippets = snippetsOf(readme);
const events = join(makeFolder(), "events.jsonl.gz");
const keys = { PROJECT_API_KEY: projectKey, PERSONAL_API_KEY: personalKey };

let server: Server;
let machine: Machine;
let reader: Reader;
/** The shell of somebody whose server runs. */
let beside: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  machine = openMachine();
  reader = { url: server.url, events };
  beside = { ...keys, PORT: new URL(server.url).port, DATA_DIR: server.dataDir };
});

/** Runs a snippet of shell as it is read, to a good end. */
async function follow({ text }: Snippet): Promise<string> {
  const { exitCode, stdout, stderr } = await machine.run(asReadBy(reader, text), beside);
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

/** Runs one that starts a server, until that listens. */
async function start({ text }: Snippet): Promise<void> {
  const listening = /Sluice is listening/;
  const ran = await machine.run(text, { PORT: "0", DATA_DIR: makeFolder() }, listening);
  expect(ran.stdout + (listening.test(ran.stdout) ? "" : ran.stderr)).toMatch(listening);
}

/** The events of a name, once there are some. */
async function eventually(event: string): Promise<ReadEvent[]> {
  let found: ReadEvent[] = [];
  await until(async () => (found = await readEvents(server, { event })).length > 0);
  return found;
}

/** Type-checks and runs a program in the reader's folder. */
async function program(name: string, text: string): Promise<string> {
  writeFileSync(join(machine.folder, name), asReadBy(reader, text));
  // What is strict here and need not be with a reader is left out.
  const compilerOptions = { noUnusedLocals: false };
  const config = { extends: join(root, "tsconfig.json"), include: [name], compilerOptions };
  writeFileSync(join(machine.folder, "tsconfig.json"), JSON.stringify(config));
  const checked = name.endsWith(".ts") ? '"$BUN" check --no-script >&2 && ' : "";
  return await follow({ language: "sh", name, text: `${checked}"$BUN" ${name}` });
}

type Follower = (snippet: Snippet) => Promise<void>;

/** By the first line, in the README's order: later snippets live on what earlier ones leave. */
const followers: Record<string, Follower> = {
  "npx -y bun@1.4.5 install && npm start      # with only Node and npm: a server on http://127.0.0.1:8000":
    start,
  "bun install && bun run start               # the same with Bun 1.4.5": start,
  "export PROJECT_API_KEY=phc_… PERSONAL_API_KEY=phx_…      # as printed": async (snippet) => {
    const printed = await follow(snippet);
    const promised = [...snippet.text.matchAll(/^# (\{.*\})$/gm)].map(([, text]) => text!);
    expect(promised).toEqual(['{"status":"Ok"}']);
    expect(printed).toStartWith(promised[0]!);
    const page = JSON.parse(printed.slice(promised[0]!.length)) as { results: ReadEvent[] };
    expect(page.results).toMatchObject([{ event: "hello", distinct_id: "me", properties: { answer: 42 } }]);
  },
  'import { PostHog } from "posthog-node";': async ({ text }) => {
    await program("application.mjs", text);
    expect(await eventually("signed up")).toMatchObject([
      { distinct_id: "me", properties: { plan: "free" } },
    ]);
  },
  'import posthog from "posthog-js";': async ({ text }) => {
    const file = join(machine.folder, "page.mjs");
    writeFileSync(file, asReadBy(reader, text));
    const define = { PROJECT_API_KEY: JSON.stringify(projectKey) };
    const built = await Bun.build({ entrypoints: [file], target: "browser", define });
    expect(built.success).toBe(true);
    if (noBrowser) return;
    const { url } = openSite({
      // A browser that is driven is a bot to posthog-js, which it would not count.
      "/": `<!doctype html><link rel="icon" href="data:,">
        <script>Object.defineProperty(navigator, "webdriver", { get: () => false })</script>
        <script type="module" src="/page.js"></script>`,
      "/page.js": built.outputs[0]!,
    });
    const { complaints } = await visit(await openBrowser(), url, { userAgent });
    expect(await eventually("$pageview")).toMatchObject([{ properties: { $current_url: `${url}/` } }]);
    expect(complaints).toEqual([]);
  },
  "bun run sluice import events.jsonl.gz --api-key $PROJECT_API_KEY": async (snippet) => {
    const moved = ["a", "b"].map((distinct_id) => ({ event: "moved in", distinct_id, properties: {} }));
    const lines = moved.map((one, i) => JSON.stringify({ ...one, timestamp: `2019-01-0${i + 1}T00:00:00Z` }));
    writeFileSync(events, gzipSync(`${lines.join("\n")}\n`));
    await follow(snippet);
    await follow(snippet);
    const read = await readEvents(server, { event: "moved in" });
    expect(read.map(({ distinct_id }) => distinct_id)).toEqual(["b", "a"]);
  },
  "bun install && bun run test": async (snippet) => void (await follow(snippet)),
  "docker build -t sluice .": async (snippet) => {
    const printed = await follow(snippet);
    expect(printed).toMatch(/phx_\w+/);
    const [build, run, exec] = readFileSync(machine.dockerLog, "utf8").split("\n");
    const image = /-t (\S+)/.exec(build!)![1]!;
    expect([run!.endsWith(` ${image}`), exec!.startsWith("exec ")]).toEqual([true, true]);
    const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
    expect(dockerfile).toContain(`EXPOSE ${/:(\d+) /.exec(run!)![1]!}\n`);
    expect(dockerfile).toContain(`VOLUME ${/-v \w+:(\S+)/.exec(run!)![1]!}\n`);
    for (const [, target] of readme.matchAll(/--target (\w+)/g)) {
      expect(dockerfile).toContain(` AS ${target}\n`);
    }
  },
  "npx openapi-typescript http://127.0.0.1:8000/docs/json -o sluice.d.ts": async (snippet) => {
    await follow(snippet);
    expect(readFileSync(join(machine.folder, "sluice.d.ts"), "utf8")).toContain("export interface paths");
  },
  'import createClient from "openapi-fetch";': async ({ text }) => {
    expect(await program("script.ts", text)).toMatch(/^\d{4}-\S+Z me\n$/);
  },
  "curl -s http://127.0.0.1:8000/docs/json -o openapi.json": async (snippet) => {
    await follow(snippet);
  },
  // Run by test/http/docs/clients.test.ts, where there is Python.
  "import os": () => Promise.resolve(),
  'import { treaty } from "@elysiajs/eden";': async ({ text }) => {
    expect(await program("inside.ts", text)).toContain("1 Default project");
  },
};

const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/** Blocks that nobody runs, by their first lines: pictures. */
const drawings: string[] = [];

function unknownIn(all: readonly Snippet[]): string[] {
  const known = ({ language, name }: Snippet) =>
    language === "" ? drawings.includes(name) : Object.hasOwn(followers, name);
  return all.filter((one) => !known(one)).map(({ language, name }) => `${language}: ${name}`);
}

test("each snippet of the README is followed here, and no other", () => {
  expect(unknownIn(snippets)).toEqual([]);
  const names = snippets.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...Object.keys(followers), ...drawings].toSorted());
});

test("a new snippet is reported", () => {
  const page = `${readme}\n\`\`\`python\nimport posthog\n\`\`\`\n\n\`\`\`\nbun run start\n\`\`\`\n`;
  expect(unknownIn(snippetsOf(page))).toEqual(["python: import posthog", ": bun run start"]);
});

for (const snippet of snippets) {
  const { language, name } = snippet;
  const follower = Object.hasOwn(followers, name) ? followers[name] : undefined;
  if (language === "" || !follower) continue;
  test(`as the README says: ${name}`, async () => {
    await follower(snippet);
    await rested(server);
  });
}

test("files that the README names exist, and .env.example names all that compose.yaml requires", () => {
  const paths = [
    ...readme.matchAll(/`((?:\.patches|src|test|sql|bench)\/[^`*\s…]*|compose\.yaml|Dockerfile)`/g),
  ];
  expect(paths.length).toBeGreaterThan(2);
  expect(paths.map(([, path]) => path!).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const compose = readFileSync(join(root, "compose.yaml"), "utf8");
  const { services } = Bun.YAML.parse(compose) as { services: { sluice: { build: { target: string } } } };
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  expect(dockerfile).toContain(` AS ${services.sluice.build.target}\n`);
  const example = readFileSync(join(root, "src/docs/deploy/.env.example"), "utf8");
  const named = new Set([...example.matchAll(/^(\w+)=/gm)].map(([, name]) => name));
  const asked = [...compose.matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
  expect(asked.filter((name) => !named.has(name))).toEqual([]);
  const unit = readFileSync(join(root, "src/docs/deploy/sluice.service"), "utf8");
  expect(existsSync(join(root, /^ExecStart=\S+ (\S+)/m.exec(unit)![1]!))).toBe(true);
});
