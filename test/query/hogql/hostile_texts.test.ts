// Texts that mean harm, over HTTP, beside a project whose every value has a mark: nothing of it is in any answer, and
// no answer to them depends on it. Times are printed: a busy machine decides them, too.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { sleep } from "../../../src/core/clock.ts";
import { openLog } from "../../../src/core/log.ts";
import { parserLimits } from "../../../src/query/sql/parser/limits.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { ClickHouseError } from "../../../src/storage/clickhouse/error.ts";
import { storageLimits } from "../../../src/storage/limits.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { fillProject, mixProjects } from "../../support/neighbours.ts";
import { storesOf } from "../../support/server.ts";
import { openTexts } from "../sql/compile/lists/arguments.ts";

afterAll(cleanUp, startMsMax);

const mark = "zqsecret_marker";
const lines = readFileSync(join(import.meta.dir, "../../fixtures/hogql/hostile.txt"), "utf8").split("\n");

/** `<<3|, |a$i>>` is `a1, a2, a3`; `$h` is one less. */
function whole(line: string): string {
  return line.replace(/<<(\d+)\|(.*?)\|(.*?)>>/g, (_, count: string, between: string, part: string) => {
    if (!part.includes("$i") && between === "") return part.repeat(Number(count));
    const parts = Array.from({ length: Number(count) }, (_, h) =>
      part.replaceAll("$i", String(h + 1)).replaceAll("$h", String(h)),
    );
    return parts.join(between);
  });
}

/** The texts below a heading. */
function textsOf(heading: string): string[] {
  const from = lines.findIndex((line) => line.startsWith(`# ${heading}:`)) + 1;
  const to = lines.findIndex((line, i) => i >= from && (line.startsWith("# ") || line === ""));
  return lines.slice(from, to);
}

let app: RunningApp;
/** Of this process: the server's, and the client's here. */
const loop = monitorEventLoopDelay({ resolution: 5 });

function run(text: string, more: object = {}): Promise<Answer> {
  const body = { query: { kind: "HogQLQuery", query: text, ...more } };
  return ask({ url: app.url } as never, "POST", "/api/projects/1/query/", body);
}

/** As run, again for as long as the machine is too busy. */
async function patiently(text: string, again: readonly number[] = [503]): Promise<Answer> {
  for (;;) {
    const answer = await run(text);
    if (!again.includes(answer.status)) return answer;
  }
}

const millions = (bytes: number): number => Math.round(bytes / 1_000_000);

let otherKey: string;
beforeAll(async () => {
  // Errors are shown: of a rare 500 the answer says nothing.
  app = await startApp({}, openLog({ level: "error", format: "json" }));
  const { sql } = await storesOf(app);
  const made = await ask({ url: app.url } as never, "POST", "/api/projects/", { name: "Other" });
  otherKey = String(made.body["api_token"]);
  await sql`UPDATE projects SET session_recording_opt_in = true`;
  await fillProject(app, "phc_test_project_key_0123456789", "seen");
}, startMsMax);

/** Rows, and the arrays in them, in an order of ours: without `order by` the store gives them in any. */
function sorted(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value
    .map(sorted)
    .toSorted((a, b) => (Bun.hash(JSON.stringify(a)) < Bun.hash(JSON.stringify(b)) ? -1 : 1));
}

const outcomeOf = ({ status, body }: Answer): unknown => [status, sorted(body["results"]) ?? body["detail"]];

let filling: Promise<void> | undefined;

/** Rows of the other project, in one part with one's own. */
async function fillOther(): Promise<void> {
  await fillProject(app, otherKey, mark);
  const stores = await storesOf(app);
  expect(await mixProjects(stores)).toContain("event_rows");
  const [row] = await stores.clickhouse.query<{ n: string }>(
    "SELECT count() AS n FROM event_rows WHERE event LIKE {like:String}",
    { like: `${mark}%` },
  );
  expect(Number(row!.n)).toBeGreaterThan(20);
}

test("no answer shows another project's values, or depends on them", async () => {
  const texts = textsOf("answered");
  const alone = new Map<string, unknown>();
  for (const text of texts) alone.set(text, outcomeOf(await patiently(text)));
  await (filling ??= fillOther());
  let answered = 0;
  for (const text of texts) {
    const answer = await patiently(text);
    if (answer.status === 200) answered++;
    expect([text, outcomeOf(answer)]).toEqual([text, alone.get(text)]);
    expect([text, answer.text.includes(mark)]).toEqual([text, false]);
  }
  expect(answered).toBeGreaterThan(60);
}, 1_800_000);

test("what is not of the language is refused, with the reason", async () => {
  for (const text of textsOf("refused")) {
    const { status, body, text: said } = await run(text, { values: {}, variables: {} });
    expect([text, status, body["type"]]).toEqual([text, 400, "validation_error"]);
    expect([text, String(body["detail"]).length > 10, said.includes(mark)]).toEqual([text, true, false]);
  }
}, 1_800_000);

/** Statements of clients that the engine runs; one while its watch starts it again, as on a machine that starves it. */
async function countRunning(clickhouse: ClickHouse): Promise<number> {
  const text = "SELECT toUInt32(count()) AS n FROM system.processes WHERE Settings['readonly'] = '2'";
  try {
    return (await clickhouse.query<{ n: number }>(text))[0]!.n;
  } catch (thrown) {
    if (thrown instanceof ClickHouseError && thrown.kind === "transient") return 1;
    throw thrown;
  }
}

/**
 * Bytes that this process's engine has, but for pages of its program, of which more are read with each new function,
 * and for free memory, which its allocator keeps for some seconds.
 */
async function readMemory(clickhouse: ClickHouse): Promise<number> {
  await clickhouse.command("SYSTEM JEMALLOC PURGE");
  const children = readdirSync("/proc/self/task").flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" ").filter(Boolean),
  );
  const engines = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("chdb"));
  const statuses = engines.map((pid) => readFileSync(`/proc/${pid}/status`, "utf8"));
  return statuses.reduce((sum, status) => sum + Number(/RssAnon:\s+(\d+)/.exec(status)![1]) * 1024, 0);
}

/** As many as fit the run: SLUICE_TEXTS of `test:long`. */
const textsMade = Number(process.env["SLUICE_TEXTS"] ?? 200);

/** A project has two at once; others wait at the server. */
const together = 4;
const roundTexts = 40;

/** Again for as long as the machine is too busy, which the answer says. */
async function answerTo(query: object, busy: object[] = []): Promise<Answer> {
  for (;;) {
    const answer = await ask({ url: app.url } as never, "POST", "/api/projects/1/query/", { query });
    if (answer.status !== 503) return answer;
    expect([query, answer.body["code"]]).toEqual([query, "unavailable"]);
    busy.push([query, answer.body["detail"]]);
  }
}

/** Where expressions stand in other kinds. */
function otherKinds(key: string): object[] {
  const dateRange = { date_from: "-7d" };
  return [
    { kind: "EventsQuery", select: ["event", key], limit: 5 },
    { kind: "TrendsQuery", series: [{}], dateRange, properties: [{ type: "hogql", key }] },
    { kind: "TrendsQuery", series: [{ math: "hogql", math_hogql: `max(toString(${key}))` }], dateRange },
    {
      kind: "TrendsQuery",
      series: [{}],
      dateRange,
      breakdownFilter: { breakdown: key, breakdown_type: "hogql" },
    },
  ];
}

/** Names that the engine would interpret, and texts that multiply. */
const refusedAnywhere = [
  "toString(toTimeZone(now(), 'file:/proc/self/fd/7'))",
  "toString(timestamp, 'Fixed/UTC-00:01:01')",
  "formatDateTime(timestamp, event)",
  "toString(dateTrunc(event, timestamp))",
  "toString(JSONExtract(properties, 'a', 'AggregateFunction(sum, UInt64)'))",
  "toString(match(event, distinct_id))",
  "toString(match(event, '((a{50}){50}){50}'))",
  "toString(multiSearchAny(event, [distinct_id]))",
  "toString(arraySum(arrayMap(x -> position(repeat('a', 1000000), toString(x)), range(60000))))",
  "toString(arraySum(arrayMap(x -> countSubstrings(repeat('a', 9999), toString(x)), range(60000))))",
  "toString(length(repeat(event, 1000000)))",
];

test("names of the engine's and texts that multiply are refused wherever an expression stands", async () => {
  const { clickhouse } = await storesOf(app);
  for (const expression of refusedAnywhere) {
    const queries = [
      { kind: "HogQLQuery", query: `select ${expression} from events` },
      ...otherKinds(expression),
    ];
    for (const query of queries) {
      const { status, body } = await answerTo(query);
      expect([query, status, body["code"]]).toEqual([query, 400, "invalid_input"]);
    }
  }
  expect(await countRunning(clickhouse)).toBe(0);
}, 1_800_000);

/** Resolves when none of these runs: whether one did. @throws when one outlives its answer as the engine's watch forbids. */
async function awaitEnd(clickhouse: ClickHouse, queries: readonly unknown[]): Promise<boolean> {
  let polls = 0;
  for (; (await countRunning(clickhouse)) > 0; polls++) {
    if (polls * pollMs > storageLimits.statementOverdueMsMax * storageLimits.engineStarvedFactor)
      throw new Error(`a statement ran on: ${JSON.stringify(queries)}`);
    await sleep(pollMs);
  }
  return polls > 0;
}
const pollMs = 50;

test("texts made of the table of functions end, show nothing of others and leave nothing behind", async () => {
  const { clickhouse } = await storesOf(app);
  await (filling ??= fillOther());
  const { statement, expression } = openTexts(46);
  const statuses: Record<number, number> = {};
  const busy: object[] = [];
  let roundsRunningOn = 0;
  const before = await readMemory(clickhouse);
  for (let made = 0; made < textsMade; made += roundTexts) {
    const queries = Array.from({ length: roundTexts }, (_, i) =>
      i % 4 === 0 ? otherKinds(expression())[(i / 4) % 4]! : { kind: "HogQLQuery", query: statement() },
    );
    const waiting = [...queries];
    const answerAll = async (): Promise<void> => {
      for (let query = waiting.shift(); query; query = waiting.shift()) {
        const { status, text } = await answerTo(query, busy);
        statuses[status] = (statuses[status] ?? 0) + 1;
        expect([query, [200, 400].includes(status), text.includes(mark)]).toEqual([query, true, false]);
      }
    };
    await Promise.all(Array.from({ length: together }, answerAll));
    if (await awaitEnd(clickhouse, queries)) roundsRunningOn++;
    if (made % 1000 === 0)
      console.log(`${made + roundTexts} texts: ${millions((await readMemory(clickhouse)) - before)} MB more`);
  }
  const after = await readMemory(clickhouse);
  const share = Math.round((100 * statuses[200]!) / textsMade);
  console.log(
    `texts: ${JSON.stringify(statuses)}, ${share} % answered; something ran on after ${roundsRunningOn} rounds; ` +
      `engine ${millions(before)} → ${millions(after)} MB; busy: ${JSON.stringify(busy)}`,
  );
  expect(share).toBeGreaterThanOrEqual(60);
  expect(clickhouse.running.overdueMs).toBe(0);
  expect(after - before).toBeLessThan(50_000_000);
}, 7_200_000);

test("bombs end, by a bound, and nobody else waits for them", async () => {
  // Of its own: a bomb may take a second, of one core, and half a second of the parser's.
  app = await startApp({ QUERY_CPU_SECONDS_MAX: "1" });
  const { textCpuMsMax } = parserLimits;
  parserLimits.textCpuMsMax = 500;
  later(() => (parserLimits.textCpuMsMax = textCpuMsMax));
  const { clickhouse } = await storesOf(app);
  loop.enable();
  const before = process.memoryUsage().rss;
  let most = before;
  const statuses = new Map<number, number>();
  const slow: string[] = [];
  const late: string[] = [];
  for (const line of textsOf("bounded")) {
    const text = whole(line);
    loop.reset();
    const { status } = await run(text);
    const held = Math.round(loop.max / 1_000_000);
    if (held > 50) slow.push(`${held} ms: ${line.slice(0, 60)}`);
    most = Math.max(most, process.memoryUsage().rss);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect([line, [200, 400, 413, 503].includes(status)]).toEqual([line, true]);
    if (await awaitEnd(clickhouse, [line])) late.push(line.slice(0, 60));
  }
  loop.disable();
  console.log(`${late.length} ran on for a moment:`, late);
  console.log(`bombs: ${JSON.stringify([...statuses])}, memory +${millions(most - before)} MB`);
  console.log(`the event loop was held for over 50 ms by ${slow.length}:`, slow);
  const after = await patiently("select 1", [400, 503]);
  expect(outcomeOf(after)).toEqual([200, [[1]]]);
}, 1_800_000);
