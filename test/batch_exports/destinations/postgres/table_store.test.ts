// Rows copied into a table of a user's Postgres: all of them, or none and the reason.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { replaceRows } from "../../../../src/batch_exports/destinations/postgres/table_store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../../../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  await accounts.sql`CREATE TABLE copied (uuid integer NOT NULL, event text)`;
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`TRUNCATE copied`;
});

const table = { schema: "public", table_name: "copied" };

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function replace(expected: number, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const rows = { columns: ["uuid", "event"], identity: ["uuid"], chunks, expected };
  return await replaceRows(accounts.sql, table, rows);
}

async function stored(): Promise<string[]> {
  const rows = await accounts.sql<{ event: string }[]>`SELECT event FROM copied ORDER BY uuid`;
  return rows.map(({ event }) => event);
}

test("rows replace those with the same key, wherever their chunks end", async () => {
  expect(await replace(2, chunksOf("1\tfirst\n2\tsecond\n"))).toBe(2);
  expect(await replace(2, chunksOf("2\tch", "anged\n", "", "3\tthird\n"))).toBe(2);
  expect(await stored()).toEqual(["first", "changed", "third"]);
});

test("no rows at all change nothing", async () => {
  expect(await replace(0, chunksOf())).toBe(0);
  expect(await stored()).toEqual([]);
});

test("a row that the table refuses ends the copy with the table's reason, and leaves the table as it was", async () => {
  await replace(1, chunksOf("1\tfirst\n"));
  await expect(replace(1, chunksOf("one\tsecond\n"))).rejects.toThrow(
    "invalid input syntax for type integer",
  );
  const many = Array.from({ length: 200 }, (_, i) => `${i}\t${"x".repeat(10_000)}\n`);
  await expect(replace(201, chunksOf("one\tsecond\n", ...many))).rejects.toThrow("invalid input syntax");
  expect(await stored()).toEqual(["first"]);
});

test("a source that fails ends the copy with its own reason", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("1\tfirst\n");
    throw new Error("the source ended early");
  }
  await expect(replace(1, failing())).rejects.toThrow("the source ended early");
  expect(await stored()).toEqual([]);
});

test("another number of rows than expected changes nothing", async () => {
  await expect(replace(2, chunksOf("1\tfirst\n"))).rejects.toThrow("ClickHouse gave 1 of 2 rows");
  expect(await stored()).toEqual([]);
});
