// Every snippet of src/docs is followed, but for those of api.md, which test/spec/readme.test.ts follows; and the pages
// name the lines that the program logs.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { makeFolder } from "../support/folder.ts";
import { asReadBy, type Machine, openMachine, root, type Snippet, snippetsOf } from "../support/readme.ts";
import { openLender } from "../support/remote.ts";
import { s3Key, s3Secret, startS3 } from "../support/s3.ts";
import {
  personalKey,
  post,
  projectKey,
  rested,
  type StartedServer,
  startServer,
  until,
} from "../support/server.ts";

afterAll(cleanUp);

const pages = readdirSync(join(root, "src/docs")).filter((name) => name.endsWith(".md") && name !== "api.md");
const textOf = (page: string) => readFileSync(join(root, "src/docs", page), "utf8");
const snippets = pages.flatMap((page) => snippetsOf(textOf(page)).map((one) => ({ ...one, page })));

/** What others would send: their exports, made up. */
const exported = makeFolder();
const events = join(makeFolder(), "events.jsonl.gz");
const line = (value: object) => `${JSON.stringify(value)}\n`;
const at = "2024-01-02T03:04:05Z";

function writeExports(): void {
  const uuid = "0190a5c8-7b0e-7000-8000-00000000000";
  const posthog = { uuid: `${uuid}1`, event: "of posthog", distinct_id: "p", timestamp: at, properties: {} };
  const mixpanel = {
    event: "of mixpanel",
    properties: { time: 1_704_164_645, distinct_id: "m", $insert_id: "i" },
  };
  const amplitude = { event_type: "of amplitude", event_time: at, user_id: "a", uuid: `${uuid}2` };
  const segment = { type: "track", event: "of segment", userId: "s", messageId: "x", timestamp: at };
  const folders = { PREFIX: ["a.jsonl.gz", posthog], SOURCE: ["day/b.gz", segment] } as const;
  for (const [folder, [name, event]] of Object.entries(folders)) {
    mkdirSync(join(exported, folder, "day"), { recursive: true });
    writeFileSync(join(exported, folder, name), gzipSync(line(event)));
  }
  mkdirSync(join(exported, "zip/1"), { recursive: true });
  writeFileSync(join(exported, "zip/1/c.json.gz"), gzipSync(line(amplitude)));
  writeFileSync(join(exported, "mixpanel"), line(mixpanel));
  writeFileSync(
    events,
    gzipSync(line({ event: "moved in", distinct_id: "d", timestamp: at, properties: {} })),
  );
}

/** Other tools' servers and programs: they give what was asked for, if it was asked as they want it. */
const standIns = {
  aws: `
    [ "$1 $2" = "s3 sync" ] && cp -r "${exported}/\${3##*/}" "$4"`,
  unzip: `
    [ "$*" = "-q -o amplitude.zip -d amplitude" ] && cp -r "${exported}/zip" amplitude`,
  curl: `
    case "$*" in
      *--user\\ user:secret\\ *--output\\ mixpanel-2024-01.jsonl\\ https://data.mixpanel.com/api/2.0/export?*) cp "${exported}/mixpanel" mixpanel-2024-01.jsonl ;;
      *--user\\ key:secret\\ *--output\\ amplitude.zip\\ https://amplitude.com/api/2/export?*) : > amplitude.zip ;;
      *) exit 1 ;;
    esac`,
};

let server: StartedServer;
let machine: Machine;

beforeAll(async () => {
  writeExports();
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  machine = openMachine(standIns);
  symlinkSync(server.dataDir, join(machine.folder, "data"));
});

const asked = {
  PROJECT_API_KEY: projectKey,
  PERSONAL_API_KEY: personalKey,
  MIXPANEL_USER: "user",
  MIXPANEL_SECRET: "secret",
  AMPLITUDE_API_KEY: "key",
  AMPLITUDE_SECRET_KEY: "secret",
};

/** Runs a snippet of shell as it is read, to a good end. */
async function follow({ text }: Snippet): Promise<string> {
  const reader = { url: server.url, events };
  const beside = { ...asked, PORT: new URL(server.url).port };
  const { exitCode, stdout, stderr } = await machine.run(asReadBy(reader, text), beside);
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

async function eventually(event: string): Promise<ReadEvent[]> {
  let found: ReadEvent[] = [];
  await until(async () => (found = await readEvents(server, { event })).length > 0);
  return found;
}

/** Follows an import, twice, since repeating doubles nothing. */
const imports = (event: string) => async (snippet: Snippet) => {
  await follow(snippet);
  expect((await eventually(event)).length).toBe(1);
};

/** test/http/proxies.test.ts and proxy_restarts.test.ts start a proxy with each, own_stores.test.ts runs the statements. */
const followedElsewhere = ({ text }: Snippet) => {
  expect(text).toMatch(/:8000|^BACKUP /);
  return Promise.resolve();
};

/** By page and first line, in their order: later snippets live on what earlier ones leave. */
const followers: Record<string, (snippet: Snippet) => Promise<void>> = {
  "moving_in.md: bun run sluice import events.jsonl.gz --api-key $PROJECT_API_KEY": imports("moved in"),
  "moving_in.md: {": async ({ text }) => {
    const reply = await post(server, "/batch/", asReadBy({ url: server.url, events }, text));
    expect(await reply.text()).toBe('{"status":"Ok"}');
    await eventually("signed up");
  },
  "moving_from.md: aws s3 sync s3://BUCKET/PREFIX posthog": imports("of posthog"),
  "moving_from.md: curl --fail --silent --compressed": imports("of mixpanel"),
  "moving_from.md: curl --fail --silent --user": imports("of amplitude"),
  "moving_from.md: aws s3 sync s3://BUCKET/segment-logs/SOURCE segment": imports("of segment"),
  "moving_from.md: event,distinct_id,timestamp,": ({ text }) => {
    writeFileSync(join(machine.folder, "visits.csv"), `${text}\n`);
    return Promise.resolve();
  },
  "moving_from.md: bun run sluice import visits.csv": imports("$pageview"),
  "operating.md: bun run sluice doctor": async (snippet) => {
    const printed = await follow(snippet);
    for (const [, shape] of snippet.text.matchAll(/^# (ok +\w+ +).*$/gm)) expect(printed).toContain(shape!);
  },
  "operating.md: du -sh data/*": async (snippet) =>
    expect(await follow(snippet)).toContain("data/clickhouse"),
  "proxies.md: upstream sluice {": followedElsewhere,
  "proxies.md: analytics.example.com {": followedElsewhere,
  "proxies.md: global": followedElsewhere,
  "proxies.md: backend sluice": followedElsewhere,
  "proxies.md: reverse_proxy 10.0.0.1:8000": followedElsewhere,
  // test/storage/clickhouse/grants.test.ts reads each line of this form, and starts a ClickHouse with them.
  "scaling.md: GRANT SELECT": async ({ text }) =>
    expect(text.split("\n").filter((line) => !/^GRANT .+ TO sluice;$/.test(line))).toEqual([]),
  "scaling.md: Machines by events a second": async ({ text }) => {
    const printed = await Bun.$`bun bench/scaling.ts`.cwd(root).text();
    expect(printed).toContain(text.trimEnd());
  },
  "backup.md: mkdir -p backups": async (snippet) => {
    await rested(server);
    expect(await follow(snippet)).toContain("to backups/monday");
  },
  "backup.md: bun run sluice backup verify backups/monday": async (snippet) => {
    expect(await follow(snippet)).toMatch(/backups\/monday is whole: .*\nopened it: [1-9]\d* events, /);
  },
  "backup.md: export AWS_ACCESS_KEY_ID=": async (snippet) => {
    const { url } = await startS3("backups");
    const text = snippet.text
      .replace("AWS_ACCESS_KEY_ID=…", `AWS_ACCESS_KEY_ID=${s3Key}`)
      .replace("AWS_SECRET_ACCESS_KEY=…", `AWS_SECRET_ACCESS_KEY=${s3Secret}`)
      .replace("https://s3.example.com", url);
    expect(await follow({ ...snippet, text })).toContain("to s3://backups/sluice/sluice-");
  },
  "backup.md: BACKUP DATABASE sluice TO": followedElsewhere,
  "backup.md: DATA_DIR=restored bun run sluice restore backups/monday": async (snippet) => {
    expect(await follow(snippet)).toMatch(/^restored .* to restored\n/);
    const restored = await startServer({}, join(machine.folder, "restored"));
    expect((await readEvents(restored, { event: "of segment" })).length).toBe(1);
    await restored.end("SIGTERM");
  },
  "backup.md: export DATABASE_URL=": async (snippet) => {
    const before = await readEvents(server);
    await server.end("SIGTERM");
    // Their servers, in place of the ones at the usual ports.
    const lender = await openLender();
    const remote = await lender.lend("docs");
    const text = snippet.text
      .replace("postgres://sluice:password@127.0.0.1:5432/sluice", remote["DATABASE_URL"]!)
      .replace("http://sluice:password@127.0.0.1:8123/sluice", remote["CLICKHOUSE_URL"]!);
    expect(text.split("sluice:password").length).toBe(1);
    expect(await follow({ ...snippet, text })).toStartWith("moved ");
    const { dataDir } = server;
    const key = { SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim() };
    server = await startServer({ ...remote, ...key }, dataDir);
    expect(await readEvents(server)).toEqual(before);
  },
};

function followerOf({ page, name }: { page: string; name: string }): string | undefined {
  return Object.keys(followers).find((key) => `${page}: ${name}`.startsWith(key));
}

/** In the order of the followers. */
const ordered = snippets.toSorted((a, b) => {
  const keys = Object.keys(followers);
  return keys.indexOf(followerOf(a) ?? "") - keys.indexOf(followerOf(b) ?? "");
});

test("each snippet of the documents is followed here, and no other", () => {
  const found = snippets.map((one) => followerOf(one) ?? `${one.page}: ${one.name}`);
  expect(found.toSorted()).toEqual(Object.keys(followers).toSorted());
});

for (const snippet of ordered) {
  const follower = followers[followerOf(snippet) ?? ""];
  if (!follower) continue;
  test(`as ${snippet.page} says: ${snippet.name}`, () => follower(snippet));
}

test("commands within lines of text are commands of the program", () => {
  const known = readFileSync(join(root, "src/main.ts"), "utf8");
  const named = pages.flatMap((page) =>
    [...textOf(page).matchAll(/`(?:bun run )?sluice ([a-z]+)/g)].map(([, name]) => name!),
  );
  expect(named.length).toBeGreaterThan(5);
  expect([...new Set(named)].filter((name) => !known.includes(`${name}Command`))).toEqual([]);
  expect(existsSync(join(root, "src/cli/backup.ts"))).toBe(true);
});

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(root, "src", name), "utf8").replaceAll(/" \+\s+["'`]/g, ""));

/** The lines that the page explains, with … for what differs. */
function explained(): string[] {
  const lines = [...textOf("log_lines.md").matchAll(/^- (`.+?`): /gms)].map(([, names]) => names!);
  return lines.flatMap((names) => [...names.matchAll(/`([^`]+)`/g)].map(([, text]) => text!));
}

test("every line that is explained is one that the program logs", () => {
  const missing = explained().filter((text) => {
    const parts = text.split("…").filter((part) => part.trim() !== "");
    return !sources.some((source) => parts.every((part) => source.includes(part)));
  });
  expect(missing).toEqual([]);
});

test("every warning and error that the program logs is explained", () => {
  const texts = explained();
  const known = (text: string) =>
    texts.some((one) => {
      const [head = "", ...tails] = one.split("…");
      const rest = text.replaceAll(/\$\{[^}]*\}/g, "");
      return head === ""
        ? rest.trim() === tails.join("").trim()
        : text === one || (tails.length > 0 && text.startsWith(head));
    });
  const logged = sources.flatMap((source) => [
    ...[...source.matchAll(/[lL]og\.(?:warn|error)\(\s*["`]([^"`]+)["`]/g)].map(([, text]) => text!),
    ...[...source.matchAll(/failure: "([^"]+)"/g)].map(([, text]) => text!),
  ]);
  expect(logged.length).toBeGreaterThan(40);
  expect(logged.filter((text) => !known(text))).toEqual([]);
});
