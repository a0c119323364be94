// PostHog's parser in a child process, and texts that break it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { getPriority } from "node:os";
import { Fault } from "../../../../src/core/fault.ts";
import { openLog } from "../../../../src/core/log.ts";
import { SqlProblem } from "../../../../src/query/sql/compile/value.ts";
import { parserLimits } from "../../../../src/query/sql/parser/limits.ts";
import { openSqlParser } from "../../../../src/query/sql/parser/parser.ts";
import { ParserProcess } from "../../../../src/query/sql/parser/parser_process.ts";

const log = openLog({ level: "error", format: "json", write: () => {} });
const parser = openSqlParser(log);
const { textCpuMsMax } = parserLimits;
// Bombs end at the bound, whatever it is.
beforeAll(() => {
  parserLimits.textCpuMsMax = 500;
});
afterAll(() => {
  parserLimits.textCpuMsMax = textCpuMsMax;
  parser.close();
});

/** Asks again, as clients are told to, when a busy machine gave the parser no time. */
const parsed = async (
  text: string,
  kind: "select" | "expression" = "select",
  triesLeft = 10,
): Promise<unknown> => {
  const thrown: unknown = await parser.parse(text, kind, 1).catch((reason: unknown) => reason);
  if (thrown instanceof Fault && thrown.code === "unavailable" && triesLeft > 0)
    return parsed(text, kind, triesLeft - 1);
  return thrown;
};

const problemOf = async (text: string, kind: "select" | "expression" = "select"): Promise<SqlProblem> => {
  const thrown = await parsed(text, kind);
  if (thrown instanceof SqlProblem) return thrown;
  throw new Error(`no problem in ${text.slice(0, 100)}: ${String(thrown)}`);
};

const works = async (): Promise<void> => {
  const text = `select ${crypto.randomUUID().slice(0, 4).replace(/^/, "a")}`;
  expect(await parsed(text)).toMatchObject({ node: "SelectQuery" });
};

test("a text becomes a tree of each kind, with its places", async () => {
  const tree = await parser.parse("select 1", "select", 1);
  expect(tree).toMatchObject({ node: "SelectQuery", select: [{ node: "Constant", value: 1 }] });
  expect(tree).toMatchObject({ select: [{ start: { offset: 7 }, end: { offset: 8 } }] });
  expect(await parser.parse("a = 'b'", "expression", 1)).toMatchObject({ node: "CompareOperation" });
  expect(await parser.parse("a desc", "order", 1)).toMatchObject({ node: "OrderExpr", order: "DESC" });
});

test("a tree that its caller changed is unchanged when it is requested again", async () => {
  const tree = await parser.parse("select 2", "select", 1);
  Object.assign(tree, { node: "changed" });
  expect(await parser.parse("select 2", "select", 1)).toMatchObject({ node: "SelectQuery" });
});

test("an error has its position", async () => {
  const problem = await problemOf("select a from b limt 1");
  expect(problem.message).toStartWith("The query is not valid HogQL: ");
  expect(problem.start).toBe(21);
  expect((await problemOf("1 +", "expression")).message).toContain("not valid HogQL");
});

test("what follows an order is refused: the parser would read past it", async () => {
  for (const text of ["timestamp sideways", "timestamp desc, event", "timestamp desc limit 1"]) {
    const refused = await parser.parse(text, "order", 1).catch((thrown: unknown) => thrown);
    expect([text, refused]).toEqual([text, expect.any(SqlProblem) as unknown]);
  }
  expect(await parser.parse("timestamp desc -- newest", "order", 1)).toMatchObject({ order: "DESC" });
});

const { textDepthMax } = parserLimits;
/** Each breaks the parser, or takes far longer than a text may. */
const bombs: Record<string, string> = {
  subqueries: `select ${"(select ".repeat(textDepthMax)}1${")".repeat(textDepthMax)}`,
  calls: `select ${"f(".repeat(textDepthMax)}1${")".repeat(textDepthMax)}`,
  cases: `select ${"case when a then ".repeat(200)}1${" end".repeat(200)}`,
  nots: `select ${"not ".repeat(3000)}1`,
  ors: `select 1 where ${Array.from({ length: 1400 }, (_, i) => `a = ${i}`).join(" or ")}`,
  lambdas: `select ${"x -> ".repeat(1500)}1`,
  ternaries: `select ${"a ? ".repeat(1000)}1${" : 1".repeat(1000)}`,
  tags: `select ${"<a>".repeat(600)}${"</a>".repeat(600)}`,
};

for (const [name, text] of Object.entries(bombs)) {
  test(`a bomb of ${name} is refused, and the next text is read`, async () => {
    // Which of them is a matter of the processor's time: beside many programs the child gets none, which is a 503.
    const refused = /takes too long to be read|too deeply|cannot be read at this moment/;
    // With less than half a core a text may take more, so that the smallest bombs are read there, slowly.
    const refuse = async () => {
      const began = performance.now();
      const outcome = await parsed(text, "select", 0);
      const isSlow = performance.now() - began > 2 * parserLimits.textCpuMsMax;
      return outcome instanceof Error ? String(outcome) : isSlow ? "read, slowly" : "read";
    };
    const first = await refuse();
    if (first !== "read, slowly") expect(first).toMatch(refused);
    await works();
    if (first !== "read, slowly")
      expect(await refuse()).toMatch(/read, slowly|takes too long|too deeply|at this moment/);
  });
}

test("texts of ten megabytes are refused before they are read", async () => {
  expect((await problemOf("(".repeat(10_000_000))).message).toContain("characters");
});

test("a process stands behind the server once it has started", async () => {
  const own = await ParserProcess.start();
  expect(getPriority(own.pid)).toBe(parserLimits.childStepsBehind);
  own.kill();
});

test("a process that is killed is replaced by the next text", async () => {
  const own = await ParserProcess.start();
  process.kill(own.pid, "SIGKILL");
  expect(await own.parse("select", "select 1").catch(() => "gone")).toBe("gone");
  expect(own.isUsable).toBe(false);
});

test("when too many texts wait, the others are refused with a time to retry", async () => {
  const many = Array.from({ length: 2 * parserLimits.textsWaitingMax }, (_, i) =>
    parser.parse(`select ${i}, a`, "select", 7).catch((thrown: unknown) => thrown),
  );
  const another = parser.parse("select 'another', a", "select", 8);
  const faults = (await Promise.all(many)).filter((one) => one instanceof Fault);
  expect(faults.length).toBeGreaterThan(0);
  expect(new Set(faults.map(({ code }) => code))).toEqual(new Set(["unavailable"]));
  expect(await another).toMatchObject({ node: "SelectQuery" });
});
