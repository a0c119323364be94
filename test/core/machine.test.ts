import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { coresHere, memoryHere } from "../../src/core/machine.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

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

test("a container's limit bounds the memory, of either version of control groups, and so does a parent's", () => {
  const root = makeFolder();
  const own = `${root}/own`;
  expect(memoryHere(root, own)).toBe(totalmem());
  writeFileSync(`${root}/memory.max`, "max\n");
  expect(memoryHere(root, own)).toBe(totalmem());
  writeFileSync(`${root}/memory.max`, "500000000\n");
  expect(memoryHere(root, own)).toBe(500_000_000);
  mkdirSync(`${root}/memory`);
  writeFileSync(`${root}/memory/memory.limit_in_bytes`, "400000000\n");
  expect(memoryHere(root, own)).toBe(400_000_000);
  writeFileSync(`${root}/memory/memory.limit_in_bytes`, "9223372036854771712\n");
  expect(memoryHere(root, own)).toBe(500_000_000);
  mkdirSync(`${root}/system.slice/sluice.service`, { recursive: true });
  writeFileSync(own, "0::/system.slice/sluice.service\n");
  writeFileSync(`${root}/system.slice/memory.max`, "300000000\n");
  expect(memoryHere(root, own)).toBe(300_000_000);
  writeFileSync(`${root}/system.slice/sluice.service/memory.max`, "200000000\n");
  expect(memoryHere(root, own)).toBe(200_000_000);
  for (const odd of ["", "-5", "many", "0x10"]) {
    writeFileSync(`${root}/system.slice/sluice.service/memory.max`, odd);
    expect(memoryHere(root, own)).toBe(300_000_000);
  }
});
