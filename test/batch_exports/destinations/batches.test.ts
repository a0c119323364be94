// Rows in batches: their bounds, and those that a destination refuses.

import { expect, test } from "bun:test";
import { sendBatches } from "../../../src/batch_exports/destinations/batches.ts";
import type { ExportWork } from "../../../src/batch_exports/source/statements.ts";

/** Sends a row of each letter `count` times, cut into chunks of 7 bytes, where rows of these letters are refused. */
async function send(rows: string[], refusals: string, bytesMax = 1_000_000, fault?: Error) {
  const text = rows.map((row) => `${row}\n`).join("");
  const chunks = async function* () {
    for (let at = 0; at < text.length; at += 7) yield Buffer.from(text.slice(at, at + 7));
  };
  const accepted: string[][] = [];
  const refused: ExportWork["refused"] = { count: 0, named: [] };
  let checks = 0;
  const count = await sendBatches({ rows: rows.length, refused }, chunks(), {
    bytesMax,
    send: (lines) => {
      const texts = lines.map((line) => Buffer.from(line).toString());
      if (texts.some((row) => refusals.includes(row[0]!))) throw new Error("refused");
      accepted.push(texts);
      return Promise.resolve();
    },
    readRefusal: (thrown, line) => ({
      uuid: Buffer.from(line).toString(),
      reason: (thrown as Error).message,
    }),
    checkDestination: async () => {
      checks++;
      if (fault) throw fault;
    },
  });
  return { count, accepted, checks, refused: refused.count, named: refused.named.map(({ uuid }) => uuid) };
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
  const { count, accepted, named, checks } = await send(rows, "xy");
  expect([count, named, checks]).toEqual([16, ["x", "y"], 0]);
  expect(accepted.flat()).toEqual([..."abcdefghijklmnop"]);
});

test("all refused rows are counted, the first hundred named", async () => {
  const rows = Array.from({ length: 2500 }, (_, i) => (i % 5 === 0 ? "a" : "x"));
  const { count, refused, named, checks } = await send(rows, "x");
  expect([count, refused, named.length, checks]).toEqual([500, 2000, 100, 0]);
});

test("a destination that accepts none of the first hundred rows, or none of fewer, is checked once", async () => {
  for (const length of [1, 99, 100, 101, 1500]) {
    const { count, refused, checks } = await send(
      Array.from({ length }, () => "x"),
      "x",
    );
    expect([length, count, refused, checks]).toEqual([length, 0, length, 1]);
  }
  await expect(send(["x"], "x", undefined, new Error("wrong table"))).rejects.toThrow("wrong table");
});

test("a run ends with the last row's reason when it would take too many tries", async () => {
  const rows = Array.from({ length: 12_000 }, () => "x");
  await expect(send(rows, "x")).rejects.toThrow(
    /^The destination refused \d+ rows and more, the last one because of refused$/,
  );
});
