// The functions that a query may call: which there are, by which names, and none that reads more than its arguments.

import { expect, test } from "bun:test";
import {
  functionNames,
  functionsIn,
  sqlFunction,
} from "../../../../../src/query/sql/compile/lists/functions.ts";

test("a line has a type, kinds of arguments, traits and names; another name of the engine's stands behind =", () => {
  const found = functionsIn<object>(
    "# a comment: none\nnumber v?z isNumeric givesNull: round half=roundHalf\nstring ?v*: tag",
  );
  const round = { args: "v?z", type: "number", isNumeric: true, givesNull: true } as const;
  expect([...found]).toEqual([
    ["round", { name: "round", ...round }],
    ["half", { name: "roundHalf", ...round }],
    ["tag", { name: "tag", args: "?v*", type: "string" }],
  ]);
});

test("a line whose arguments have no kind is none", () => {
  expect(() => functionsIn<object>("number 1-2: round")).toThrow("1 is no kind of argument");
  expect(() => functionsIn<object>("number : round")).toThrow("nothing is no kind of argument");
});

test("a function is found in any case, under its own name and PostHog's", () => {
  expect(sqlFunction("TOSTARTOFDAY")?.name).toBe("toStartOfDay");
  expect(sqlFunction("date_add")?.name).toBe("plus");
  expect(sqlFunction("lead")?.name).toBe("leadInFrame");
  expect(sqlFunction("")).toBeUndefined();
});

test("names of JavaScript are no functions", () => {
  expect(
    ["constructor", "__proto__", "toString", "hasOwnProperty"].map((name) => sqlFunction(name)?.name),
  ).toEqual([undefined, undefined, "toString", undefined]);
});

test("none reads files, the network, dictionaries, settings, the server or other tables, waits or works without end", () => {
  const reading =
    "file url remote s3 dictGet dictGetOrDefault joinGet hostName currentDatabase currentUser getSetting getMacro version " +
    "uptime serverUUID fqdn tcpPort sleep sleepEachRow throwIf runningAccumulate neighbor initializeAggregation arrayFold " +
    "arrayReduce catboostEvaluate executable readWKTPolygon getServerPort displayName buildId queryID connectionId" +
    "blockNumber rowNumberInAllBlocks filesystemAvailable hasColumnInTable isMergeTreePartCoveredBy";
  const known = reading.split(" ").filter((name) => sqlFunction(name) !== undefined);
  expect(known).toEqual([]);
});

test("there are hundreds", () => {
  expect(functionNames().length).toBeGreaterThan(300);
});
