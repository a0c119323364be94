// Runs a tier of the tests:
//
//   bun test/support/tiers.ts quick|all|long [--beyond-quick] [--list] [file or folder…] [what bun test is to be given…]
//
// quick: what runs in a test's own process, on stores that are copied. all: every test. long: the matrices and the kills
// at their full length. A test file is quick unless a line below has it; --beyond-quick leaves the quick ones out.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

/** Why a test file that has this text is not quick. */
const beyondByText: readonly (readonly [RegExp, string])[] = [
  [/from "[./]+\/support\/(?:browser|console)\.ts"/, "a real browser"],
  [/from "[./]+\/support\/(?:sdks|python)\.ts"/, "programs of other toolchains, from their registries"],
  [
    /\b(?:startServer|startWithHistory|runSluice)\(|from "[./]+\/support\/(?:export_process|imports|readme)\.ts"/,
    "servers as processes of their own",
  ],
];

/** Why these are not quick whatever they have. A folder stands for all in it. */
const beyondByPlace: Readonly<Record<string, string>> = {
  "test/bench": "starts what the benches measure",
  "test/cli/package.test.ts": "installs the package with npm",
  "test/clients/replayed.test.ts": "whole scripts and dashboards of public code",
  "test/crash": "kills servers and stores",
  "test/event_retention/worker.test.ts": "the engine rewrites its files a dozen times",
  "test/http/hostile_requests.test.ts": "a megabyte in every field of every request",
  "test/persons/model.test.ts": "random persons, some minutes of them",
  "test/persons/reading/large_store.test.ts": "a person of 80,000 distinct ids",
  "test/query/actors/behind.test.ts": "asks for the persons behind each of some hundred numbers",
  "test/query/funnel/store.test.ts": "random funnels against a walk through every attempt",
  "test/query/hogql/evaluation_order.test.ts":
    "every column of every table, with calls that fail on other rows",
  "test/query/hogql/hostile_texts.test.ts": "keeps the engine busy for a minute",
  "test/query/hogql/other_rows.test.ts": "hundreds of expressions over another project's rows",
  "test/query/many_events.test.ts": "every kind over 200,000 events, half a minute of them",
  "test/query/parts/row_expressions.test.ts":
    "every kind asked random questions in two ways, some minutes of them",
  "test/query/queries.test.ts": "random questions against the naive answers, a minute and a half of them",
  "test/query/sql/parser/parser.test.ts": "bombs that take the parser its whole half second each",
  "test/spec/lists.test.ts": "ten thousand rows in every list",
  "test/spec/neighbouring_rows.test.ts":
    "filters, kinds of queries and exports beside another project's rows",
  "test/storage/migrations/older_servers.test.ts": "older versions of the server",
};

/** Files of three quarters of a minute or more, the longest first: they are started first, so that none is left alone at the end. */
const startedFirst = [
  "test/crash/stuck_engine.test.ts",
  "test/storage/identity.test.ts",
  "test/storage/frozen_engine.test.ts",
  "test/bench/questions.test.ts",
  "test/console/pages.test.ts",
  "test/cli/backup/incremental.test.ts",
  "test/query/hogql/hostile_texts.test.ts",
  "test/console/states.test.ts",
  "test/cli/backup/s3.test.ts",
  "test/cli/serve.test.ts",
  "test/query/hogql/evaluation_order.test.ts",
  "test/spec/tenant.test.ts",
  "test/console/truth.test.ts",
  "test/console/charts.test.ts",
  "test/capture/journal/identity/ownership.test.ts",
  "test/cli/backup/restore.test.ts",
  "test/query/actors/behind.test.ts",
  "test/cli/backup/crash.test.ts",
  "test/batch_exports/hostile_values.test.ts",
  "test/persons/model.test.ts",
  "test/storage/migrations/serve.test.ts",
  "test/console/persons.test.ts",
  "test/outside/paths.test.ts",
  "test/outside/hidden.test.ts",
  "test/outside/operators.test.ts",
  "test/persons/split/store.test.ts",
  "test/clients/sdk_matrix.test.ts",
];

/** How many files run at a time: many wait for processes that they have started. */
const filesAtOnce = 4;

/**
 * What `long` runs, and how: each at the length that a whole night has room for. A test is longer by this environment
 * alone, and of every kind of case `all` has some: SLUICE_KILLS is read by kills.ts, SLUICE_SDKS by test/clients, SLUICE_TEXTS by
 * hostile_texts.test.ts.
 */
const long = {
  places: [
    "test/crash",
    "test/clients",
    "test/capture/many_senders.test.ts",
    "test/query/hogql/hostile_texts.test.ts",
    "test/session_recordings/listing/store.test.ts",
  ],
  environment: { SLUICE_KILLS: "50", SLUICE_SDKS: "all", SLUICE_TEXTS: "10000" },
};

/** Programs without which tests are skipped. */
const tools =
  "chromium strace python3 node npm java mvn go cargo promtool systemd-analyze docker-compose nginx caddy haproxy curl openssl".split(
    " ",
  );

/** Compose is a part of docker. */
function isMissing(tool: string): boolean {
  if (tool !== "docker-compose") return Bun.which(tool) === null;
  return Bun.which("docker") === null || Bun.spawnSync(["docker", "compose", "version"]).exitCode !== 0;
}

export type Tier = "quick" | "all" | "long";

export interface TieredTest {
  file: string;
  /** Why it is not quick; empty when it is. */
  beyond: string;
}

/** Every test file, in the order of their names. */
export function tieredTests(): TieredTest[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.test\.tsx?$/.test(name))
    .map((name) => ({ file: `test/${name}`, beyond: reasonOf(`test/${name}`) }))
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

/** Lines that have no test file any more. */
export function idleLines(): string[] {
  const files = tieredTests().map(({ file }) => file);
  const texts = files.map(textOf);
  return [
    ...[...Object.keys(beyondByPlace), ...startedFirst, ...long.places].filter(
      (place) => !files.some((file) => isIn(file, place)),
    ),
    ...beyondByText.filter(([shape]) => !texts.some((text) => shape.test(text))).map(([, reason]) => reason),
  ];
}

function reasonOf(file: string): string {
  const place = Object.keys(beyondByPlace).find((one) => isIn(file, one));
  if (place !== undefined) return beyondByPlace[place]!;
  const text = textOf(file);
  return beyondByText.find(([shape]) => shape.test(text))?.[1] ?? "";
}

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function isIn(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`);
}

function isOf(tier: Tier, withoutQuick: boolean, { file, beyond }: TieredTest): boolean {
  if (tier === "quick") return beyond === "";
  if (tier === "long") return long.places.some((place) => isIn(file, place));
  return !withoutQuick || beyond !== "";
}

/** Bun starts files by what they took, and only when it has a figure for each of them. */
function writeOrder(files: readonly string[]): string {
  const path = join(mkdtempSync(join(tmpdir(), "sluice-order-")), "timings.json");
  const order = startedFirst.toReversed();
  const figures = Object.fromEntries(files.map((file) => [file, order.indexOf(file) + 2]));
  writeFileSync(path, JSON.stringify({ version: 1, files: figures }));
  return path;
}

async function runTier(tier: Tier, files: readonly string[], options: readonly string[]): Promise<number> {
  const isLong = tier === "long";
  const order = writeOrder(files);
  // Kills and compilers have the machine to themselves.
  const how = isLong
    ? ["--timeout=3600000"]
    : [`--parallel=${filesAtOnce}`, `--timings=${order}`, "--timeout=300000"];
  const run = Bun.spawn(["bun", "test", ...how, ...options, ...files.map((file) => `./${file}`)], {
    cwd: root,
    env: { ...process.env, ...(isLong && long.environment) },
    stdio: ["inherit", "inherit", "inherit"],
  });
  const code = await run.exited;
  rmSync(dirname(order), { recursive: true, force: true });
  const missing = tools.filter(isMissing);
  if (missing.length > 0)
    console.error(`Not on this machine, so that their tests were skipped: ${missing.join(", ")}`);
  return code;
}

if (import.meta.main) {
  const [tier, ...given] = process.argv.slice(2);
  if (tier !== "quick" && tier !== "all" && tier !== "long") throw new Error("say quick, all or long");
  const own = ["--beyond-quick", "--list"];
  const places = given
    .filter((one) => /^(?:\.\/)?test\//.test(one))
    .map((one) => one.replace(/^\.\/|\/$/g, ""));
  const options = given.filter((one) => !own.includes(one) && !/^(?:\.\/)?test\//.test(one));
  const chosen = tieredTests()
    .filter((test) => isOf(tier, given.includes("--beyond-quick"), test))
    .filter(({ file }) => places.length === 0 || places.some((place) => isIn(file, place)));
  if (given.includes("--list")) {
    for (const { file, beyond } of chosen) console.log(beyond === "" ? file : `${file}: ${beyond}`);
  } else if (chosen.length === 0) {
    console.error(`no test of this tier is in ${places.join(", ")}`);
    process.exitCode = 1;
  } else {
    const files = chosen.map(({ file }) => file);
    process.exitCode = await runTier(tier, files, options);
  }
}
