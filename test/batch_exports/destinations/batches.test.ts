// Rows in batches: their bounds, and those that a destination refuses.

import { expect, test } from "bun:test";
import { sendBatches } from "../../../src/batch_exports/destinations/batches.ts";
import type { RefusedRow } from "../../../src/batch_exports/source/statements.ts";

/** Sends a row of each letter `count` times, cut into chunks of 7 bytes, where rows of these letters are refused. */
async function send(rows: string[], refusals: string, bytesMax?: number) {
  const text = rows.map((row) => `${row}\n`).join("");
  const chunks = async function* () {
    for (let at = 0; at < text.length; at += 7) yield Buffer.from(text.slice(at, at + 7));
  };
  const accepted: string[][] = [];
  const refused: RefusedRow[] = [];
  const count = await sendBatches(
    { rows: rows.length, refused },
    chunks(),
    (lines) => {
      const texts = lines.map((line) => Buffer.from(line).toString());
      if (texts.some((row) => refusals.includes(row[0]!))) throw new Error("refused");
      accepted.push(texts);
      return Promise.resolve();
    },
    (thrown, line) => ({ uuid: Buffer.from(line).toString(), reason: (thrown as Error).message }),
    bytesMax,
  );
  return { count, accepted, refused: refused.map(({ uuid }) => uuid) };
}

test("a batch has as many bytes as the destination accepts, and at least a row", async () => {
  const { accepted } = await send(["aaaa", "bbbb", "c", "dddddddddddd", "e"], "", 8);
  expect(accepted).toEqual([["aaaa", "bbbb"], ["c"], ["dddddddddddd"], ["e"]]);
});

test("a batch has at most 1000 rows", async () => {
  const { accepted } = await send(
    Array.from({ length: 2001 }, (_, i) => `r${i}`),
    "",
  );
  expect(accepted.map(({ length }) => length)).toEqual([1000, 1000, 1]);
});

test("all rows but the refused ones arrive once and in their order", async () => {
  const rows = [..."abcdefgxhijklmnoyp"];
  const { count, accepted, refused } = await send(rows, "xy");
  expect([count, refused]).toEqual([16, ["x", "y"]]);
  expect(accepted.flat()).toEqual([..."abcdefghijklmnop"]);
});

test("more than a hundred refused rows end the run with the last one's reason", async () => {
  const rows = Array.from({ length: 101 }, () => "x");
  await expect(send(rows, "x")).rejects.toThrow(
    "refused more than 100 rows, the last one because of refused",
  );
  expect((await send(rows.slice(1), "x")).count).toBe(0);
});
