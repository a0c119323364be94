// The functions that a query may call: which there are, by which names, and none that reads more than its arguments.

import { expect, test } from "bun:test";
import {
  functionNames,
  functionsIn,
  sqlFunction,
} from "../../../../../src/query/sql/compile/lists/functions.ts";

test("a line has a type, a number of arguments, traits and names; another name of the engine's stands behind =", () => {
  const found = functionsIn<object>(
    "# a comment: none\nnumber 1-2 isNumeric givesNull: round half=roundHalf\nstring 0-*: tag",
    9,
  );
  expect([...found]).toEqual([
    [
      "round",
      { name: "round", argsMin: 1, argsMax: 2, type: "number", isNumeric: true, givesNull: true } as never,
    ],
    [
      "half",
      {
        name: "roundHalf",
        argsMin: 1,
        argsMax: 2,
        type: "number",
        isNumeric: true,
        givesNull: true,
      } as never,
    ],
    ["tag", { name: "tag", argsMin: 0, argsMax: 9, type: "string" } as never],
  ]);
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

test("every function takes some number of arguments, and all are among the names", () => {
  const all = functionNames().map((name) => sqlFunction(name));
  expect(functionNames().length).toBeGreaterThan(300);
  for (const one of all.filter((found) => found !== undefined)) {
    expect(one.argsMin).toBeGreaterThanOrEqual(0);
    expect(one.argsMax).toBeGreaterThanOrEqual(one.argsMin);
    expect(one.argsMax).toBeLessThanOrEqual(500);
  }
});
