import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { coresHere } from "../../src/core/machine.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp, 60_000);

test("a container's quota bounds the cores, and no quota leaves all of them", () => {
  const path = `${makeFolder()}/cpu.max`;
  const all = availableParallelism();
  expect(coresHere(path)).toBe(all);
  for (const [text, cores] of [
    ["max 100000\n", all],
    ["100000 100000\n", 1],
    ["50000 100000\n", 1],
    ["150000 100000\n", 1],
    [`${all * 100_000} 100000\n`, all],
    ["99900000 100000\n", all],
  ] as const) {
    writeFileSync(path, text);
    expect(coresHere(path)).toBe(cores);
  }
});
