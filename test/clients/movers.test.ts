// The table of moving_from.md and the tests of test/clients name the same programs.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readMovers } from "../support/movers.ts";

test("each program of moving_from.md has a test, and each test of one has its row", () => {
  const tested = readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .flatMap((name) => [
      ...readFileSync(join(import.meta.dir, name), "utf8").matchAll(/\bmoverTest\(\s*"([^"]+)"/g),
    ])
    .map(([, name]) => name!);
  expect(tested.toSorted()).toEqual(
    readMovers()
      .map(({ name }) => name)
      .toSorted(),
  );
  expect(tested.length).toBeGreaterThan(1);
});
