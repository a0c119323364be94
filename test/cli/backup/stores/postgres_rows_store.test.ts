// The rows of Postgres as lines: every table in one moment, and back into the same tables.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  beginSnapshot,
  checkBackupLock,
  copyIn,
  copyOut,
  countAccounts,
  endSnapshot,
  listRowTables,
  lockBackups,
  readSequences,
} from "../../../../src/cli/backup/stores/postgres_rows_store.ts";
import { UserError } from "../../../../src/core/fault.ts";
import { readPostgresId } from "../../../../src/storage/identity.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../../../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

async function linesOf(table: string): Promise<string[]> {
  const connection = await accounts.sql.reserve();
  try {
    const chunks = await Array.fromAsync(copyOut(connection, table));
    return Buffer.concat(chunks).toString().split("\n").slice(0, -1);
  } finally {
    connection.release();
  }
}

/** Lines in chunks of a few bytes, as files are read. */
async function* chunksOf(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

async function* tablesOf(lines: ReadonlyMap<string, string[]>) {
  for (const [table, some] of lines) yield { table, chunks: chunksOf(some) };
}

async function allLines(): Promise<Map<string, string[]>> {
  const tables = new Map<string, string[]>();
  for (const table of await listRowTables(accounts.sql)) tables.set(table, await linesOf(table));
  return tables;
}

test("tables come after those that they refer to, without those that a backup must not have", async () => {
  const tables = await listRowTables(accounts.sql);
  const at = (name: string) => tables.indexOf(name);
  expect(at("organizations")).toBeGreaterThanOrEqual(0);
  expect(at("projects")).toBeGreaterThan(at("organizations"));
  expect(at("organization_memberships")).toBeGreaterThan(at("users"));
  expect(
    tables.filter((name) => ["cookieless_salts", "schema_migrations", "migrations_begun"].includes(name)),
  ).toEqual([]);
  expect(new Set(tables).size).toBe(tables.length);
});

test("every row comes back as it was, whatever is in it, and later rows have later numbers", async () => {
  const { sql, project_id, user_id } = accounts;
  const odd = 'quote " backslash \\ newline \n tab \t NUL-like \\u0000 ü 😀 [,]';
  await sql`UPDATE projects SET name = ${odd} WHERE id = ${project_id}`;
  await sql`
    INSERT INTO insights (project_id, short_id, query, tags, created_by, last_modified_by)
    VALUES (${project_id}, 'aaaaaaaa', ${sql.json({ a: [1, null, odd] })}, ${["x", odd]}, ${user_id}, ${user_id})`;
  await sql`UPDATE organizations SET created_at = '2026-03-01T00:00:00.123456Z'`;
  const before = await allLines();
  const sequences = await readSequences(sql);
  await addUser(sql, "later@example.com");
  await copyIn(sql, tablesOf(before), sequences);
  expect(await allLines()).toEqual(before);
  // They added no rows, and will again.
  expect(await sql`SELECT 1 FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'D'`).toHaveLength(0);
  expect(await readSequences(sql)).toEqual(sequences);
  expect(await addUser(sql, "next@example.com")).toBe(Number(sequences["users_id_seq"]) + 1);
});

test("one moment is seen from its begin to its end", async () => {
  const { sql } = accounts;
  const connection = await sql.reserve();
  await beginSnapshot(connection);
  const count = async () =>
    Buffer.concat(await Array.fromAsync(copyOut(connection, "users")))
      .toString()
      .split("\n").length;
  const before = await count();
  await addUser(sql, "meanwhile@example.com");
  expect(await count()).toBe(before);
  await endSnapshot(connection);
  expect(await count()).toBe(before + 1);
  connection.release();
});

test("one backup runs at a time, and the lock ends with its connection", async () => {
  const [one, other] = [await accounts.sql.reserve(), await accounts.sql.reserve()];
  await lockBackups(one);
  expect(lockBackups(other)).rejects.toThrow("another backup of this DATA_DIR is running");
  await checkBackupLock(one);
  await one`SELECT pg_advisory_unlock_all()`;
  // As after a restart of the server: its start removes the frozen parts.
  expect(checkBackupLock(one)).rejects.toThrow("repeat the backup");
  await lockBackups(other);
  await other`SELECT pg_advisory_unlock_all()`;
  expect(await readPostgresId(other)).toMatch(/^[0-9a-f-]{36}$/);
  one.release();
  other.release();
});

test.each([
  [
    "a head of other columns",
    (lines: string[]) => ['["id"]', ...lines.slice(1)],
    "the rows of users have other columns than the table",
  ],
  ["no head", (lines: string[]) => lines.slice(1), "the rows of users have other columns than the table"],
  [
    "a line that is no JSON",
    (lines: string[]) => [...lines, "[1,"],
    /^Postgres does not take the rows of users: /,
  ],
  [
    "a value that is none",
    (lines: string[]) => [lines[0]!, lines[1]!.replace(/^\["\d+"/, '["one"')],
    /^Postgres does not take the rows of users: /,
  ],
])("a file with %s is refused by the table's name, and nothing is changed", async (_, change, message) => {
  const before = await allLines();
  const damaged = new Map(before).set("users", change(before.get("users")!));
  const thrown: unknown = await copyIn(accounts.sql, tablesOf(damaged), {}).catch(
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(UserError);
  if (typeof message === "string") expect((thrown as Error).message).toBe(message);
  else expect((thrown as Error).message).toMatch(message);
  expect(await allLines()).toEqual(before);
  expect(await countAccounts(accounts.sql)).toBe(1);
});
