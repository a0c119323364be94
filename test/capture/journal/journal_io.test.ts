import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  isFull,
  type JournalIo,
  systemIo,
  writeDurably,
  writeDurablyNow,
} from "../../../src/capture/journal/journal_io.ts";
import { makeFolder } from "../../support/folder.ts";

test("a file is replaced whole, synced before it has its name, and nothing is left beside it", async () => {
  const folder = makeFolder();
  const path = join(folder, "ledger");
  writeFileSync(path, "old and longer");
  const steps: string[] = [];
  const io: JournalIo = {
    ...systemIo,
    renameSoon: async (from, to) => {
      steps.push(readFileSync(from, "utf8"), readFileSync(to, "utf8"));
      await systemIo.renameSoon(from, to);
    },
  };
  await writeDurably(io, path, "new");
  expect(steps).toEqual(["new", "old and longer"]);
  expect(readFileSync(path, "utf8")).toBe("new");
  writeDurablyNow(io, path, "newer");
  expect(readFileSync(path, "utf8")).toBe("newer");
  expect(readdirSync(folder)).toEqual(["ledger"]);
});

test("a full disk and a used-up quota are full, other errors are not", () => {
  const coded = (code: string) => Object.assign(new Error(code), { code });
  expect(["ENOSPC", "EDQUOT", "EIO"].map((code) => isFull(coded(code)))).toEqual([true, true, false]);
});
