// Rows copied into a table of a user's Postgres: all of them, or none and the reason.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  replaceAcceptedRows,
  replaceRows,
} from "../../../../src/batch_exports/destinations/postgres/table_store.ts";
import type { ExportWork } from "../../../../src/batch_exports/source/statements.ts";
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
  const layout = { columns: ["uuid", "event"], identity: ["uuid"] };
  return await replaceRows(accounts.sql, table, layout, chunks, expected);
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

async function replaceAccepted(
  expected: number,
  name: string,
  columns: string[],
  text: string,
): Promise<{ copied: number; count: number; lines: string[] }> {
  const refused: ExportWork["refused"] = { count: 0, named: [] };
  const target = { schema: "public", table_name: name };
  const layout = { columns, identity: ["uuid"] };
  const work = { rows: expected, refused };
  const copied = await replaceAcceptedRows(accounts.sql, target, layout, chunksOf(text), work);
  const lines = refused.named.map(({ uuid, reason }) => `Refused because of ${reason}: ${uuid}`);
  return { copied, count: refused.count, lines };
}

test("rows that the table refuses are put aside and named without their values, whatever refuses them", async () => {
  await accounts.sql`CREATE TABLE picky (uuid integer PRIMARY KEY, event varchar(3), other integer NOT NULL UNIQUE)`;
  await accounts.sql`ALTER TABLE picky ADD CONSTRAINT known CHECK (other <> 13)`;
  await accounts.sql`INSERT INTO picky VALUES (77, 'old', 707)`;
  const rows = Array.from({ length: 3000 }, (_, i) => `${i + 100}\tok\t${i + 1000}\n`);
  rows[0] = "1\tsecret-value\t1\n";
  rows[1500] = "2\tok\t13\n";
  rows[1501] = "3\tok\t\\N\n";
  rows[2000] = "4\tok\t707\n";
  rows[2999] = "5\tok\tsecret-number\n";
  const { copied, lines } = await replaceAccepted(3000, "picky", ["uuid", "event", "other"], rows.join(""));
  expect(copied).toBe(2995);
  expect(lines).toEqual([
    "Refused because of column event: value too long for type character varying(3): 1",
    'Refused because of new row for relation "picky" violates check constraint "known": 2',
    'Refused because of column other: null value in column "other" of relation "picky" ' +
      "violates not-null constraint: 3",
    'Refused because of duplicate key value violates unique constraint "picky_other_key": 4',
    "Refused because of column other: invalid input syntax for type integer: 5",
  ]);
  const [counted] = await accounts.sql<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM picky`;
  expect(counted?.rows).toBe(2996);
  expect((await replaceAccepted(3000, "picky", ["uuid", "event", "other"], rows.join(""))).copied).toBe(2995);
});

test("rows of which none is accepted are put aside for their values", async () => {
  await accounts.sql`
    CREATE TABLE short (uuid uuid PRIMARY KEY, event varchar(3) NOT NULL CHECK (event <> 'bad'), at timestamptz,
      "set" jsonb, other numeric(5, 2) NOT NULL)`;
  const columns = ["uuid", "event", "at", "set", "other"];
  const id = "0198a8f2-0000-7000-8000-00000000000";
  const moment = "2026-11-28 01:02:03.000000";
  const rows = [
    `${id}1\tlonger\t${moment}\t\\N\t1\n`,
    `${id}2\tbad\t${moment}\t{"a":1}\t-1.5e1\n`,
    `${id}3\tok\t${moment}\t"text"\t1e9\n`,
    `${id}4\tok\t\\N\t{"a":"\\\\u0000"}\t1\n`,
    `${id}5\tok\t\\N\t\\N\t\\N\n`,
  ];
  for (const row of [...rows, rows.join("")]) {
    const count = row.split("\n").length - 1;
    const { copied, lines } = await replaceAccepted(count, "short", columns, row);
    expect([row, copied, lines.length]).toEqual([row, 0, count]);
  }
  expect(await accounts.sql`SELECT FROM short`).toHaveLength(0);
});

test("rows of which none is accepted fail for a table of other types, or with a column that they lack", async () => {
  await accounts.sql`CREATE TABLE typed (uuid integer, event integer)`;
  await accounts.sql`CREATE TABLE wide (uuid integer, event text, more text NOT NULL)`;
  const columns = ["uuid", "event"];
  await expect(replaceAccepted(1, "typed", columns, "1\tfirst\n")).rejects.toThrow(
    'invalid input syntax for type integer: "first"',
  );
  await expect(replaceAccepted(1, "typed", columns, '1\t{"a":1}\n')).rejects.toThrow("invalid input syntax");
  await expect(replaceAccepted(1, "wide", columns, "1\tfirst\n")).rejects.toThrow(
    'null value in column "more"',
  );
});

test("rows that a table refuses are counted, however many they are, and the others are kept", async () => {
  await accounts.sql`CREATE TABLE wrong (uuid integer, event integer)`;
  const rows = Array.from({ length: 500 }, (_, i) => `${i}\t${i < 300 ? i : "text"}\n`).join("");
  const { copied, count, lines } = await replaceAccepted(500, "wrong", ["uuid", "event"], rows);
  expect([copied, count, lines.length]).toEqual([300, 200, 100]);
  expect(await accounts.sql`SELECT FROM wrong`).toHaveLength(300);
});

test("numbers in JSON that Postgres refuses are bounded, and no other text is", async () => {
  await accounts.sql`CREATE TABLE jsons (uuid text, a jsonb, b json, c text)`;
  const text = String.raw`{"n":1e200000, "s":"\\"1e999\\\\", "t":"a\\tb\\n1e999", "d":1234567890123456789012345,\n"u":[1e-20000,\t1]}`;
  const rows = `1e999\t${text}\t[1e999]\t{"n":1e200000}\n2\t1e999\t\\N\t1e999\n3\t{"a":1}\t"1e999"\t\\\\N\n`;
  const columns = ["uuid", "a", "b", "c"];
  const chunks = chunksOf(...rows.split(/(?<=1e9)/));
  const table = { schema: "public", table_name: "jsons" };
  expect(await replaceRows(accounts.sql, table, { columns, identity: ["uuid"] }, chunks, 3)).toBe(3);
  const stored = await accounts.sql<object[]>`SELECT uuid, a, b::text AS b, c FROM jsons ORDER BY uuid`;
  expect([...stored]).toEqual([
    {
      uuid: "1e999",
      a: { n: null, s: '"1e999\\', t: "a\tb\n1e999", d: 1.2345678901234568e24, u: [0, 1] },
      b: "[null]",
      c: '{"n":1e200000}',
    },
    { uuid: "2", a: null, b: null, c: "1e999" },
    { uuid: "3", a: { a: 1 }, b: '"1e999"', c: "\\N" },
  ]);
});
