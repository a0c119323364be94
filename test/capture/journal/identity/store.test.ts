// Numbers of journals: handed out once, known again by folder and database, given up when another process has them.

import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import {
  readJournalIdentity,
  writeIdentity,
} from "../../../../src/capture/journal/identity/journal_identity.ts";
import {
  adoptJournal,
  type JournalOwnership,
  openOwnership,
} from "../../../../src/capture/journal/identity/ownership.ts";
import {
  claimJournal,
  publishWatermarks,
  registerJournal,
} from "../../../../src/capture/journal/identity/store.ts";
import { systemIo } from "../../../../src/capture/journal/journal_io.ts";
import { journalLimits } from "../../../../src/capture/journal/limits.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { UserError } from "../../../../src/core/fault.ts";
import { openLog, silentLog } from "../../../../src/core/log.ts";
import {
  embeddedAddress,
  isSameDatabase,
  nameDatabase,
} from "../../../../src/storage/embedded/connection.ts";
import { knownMigrations } from "../../../../src/storage/migrations/files.ts";
import { openPostgres, type Postgres } from "../../../../src/storage/postgres/postgres.ts";
import { type Accounts, openAccounts, startMsMax } from "../../../support/accounts.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import { identityOf } from "../../../support/journal.ts";

afterAll(cleanUp, startMsMax);

let accounts: Accounts;
let sql: Postgres;
let lines: string[] = [];
const log = openLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });

beforeAll(async () => {
  accounts = await openAccounts();
  sql = accounts.sql;
}, startMsMax);
afterAll(() => accounts.close());

beforeEach(async () => {
  lines = [];
  await sql`TRUNCATE journals RESTART IDENTITY`;
});

const marksAt = (micros: number) => ({ stored: micros, derived: micros, recordings: micros });

const process = { knows: knownMigrations(), location: "a:/data" };

/** A folder with a journal's folder in it. */
function newFolder(): string {
  const folder = `${makeFolder()}/journal`;
  mkdirSync(folder);
  return folder;
}

function openJournal() {
  return { watermarks: () => marksAt(systemClock.now() * 1000) };
}

function open(folder: string, postgres = "host:5432/sluice"): Promise<JournalOwnership> {
  return openOwnership({ sql, folder, postgres, clock: systemClock, log });
}

/** One that is opened and confirmed, and has told its watermark. */
async function started(folder: string, postgres?: string): Promise<JournalOwnership> {
  const pair = await open(folder, postgres);
  await pair.publish(openJournal());
  return pair;
}

async function numbers(): Promise<number[]> {
  return (await sql<{ id: number }[]>`SELECT id FROM journals ORDER BY id`).map(({ id }) => id);
}

test("journals that are registered at once get numbers of their own", async () => {
  const folders = Array.from({ length: 12 }, newFolder);
  const pairs = await Promise.all(folders.map((folder) => started(folder)));
  expect(pairs.map((pair) => pair.number).toSorted((a, b) => a - b)).toEqual(await numbers());
  expect(new Set(await numbers()).size).toBe(12);
});

test("a number that was written without asking is passed by, even after its journal has left", async () => {
  const seen = { name: "old", number: 1, holder: "a" };
  expect(await claimJournal(sql, seen, process, null)).toBe(true);
  await sql`INSERT INTO journals (id, name) OVERRIDING SYSTEM VALUE VALUES (3, 'older')`;
  await sql`DELETE FROM journals WHERE id = 1`;
  const made: number[] = [];
  for (const name of ["x", "y"])
    made.push((await registerJournal(sql, { name, holder: "b" }, process)).number);
  expect(made).toEqual([4, 5]);
});

test("a number whose remainder a batch would share with another journal is not handed out", async () => {
  await sql`INSERT INTO journals (id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'two')`;
  await sql`SELECT setval('journals_id_seq', ${journalLimits.journalsCountMax + 1})`;
  expect((await registerJournal(sql, { name: "x", holder: "b" }, process)).number).toBe(4099);
});

test("a journal that left and comes back has its number still, and those after it other ones", async () => {
  const folder = newFolder();
  const pair = await started(folder);
  await pair.leave();
  expect(await numbers()).toEqual([]);
  const other = await started(newFolder());
  const again = await started(folder);
  expect([pair.number, other.number, again.number]).toEqual([1, 2, 1]);
  expect(lines).toEqual([]);
});

const strange = identityOf({ name: "strange", number: 1 });

test("a journal of another database is refused, and nothing of it changes", async () => {
  const folder = newFolder();
  await writeIdentity(folder, strange);
  const refusing = open(folder);
  await expect(refusing).rejects.toBeInstanceOf(UserError);
  await expect(refusing).rejects.toThrow("sluice journal adopt");
  expect(readJournalIdentity(folder)).toEqual(strange);
  expect(await numbers()).toEqual([]);
});

test("a journal of another database that is adopted gets a number of this one, and its saved keys are gone", async () => {
  await registerJournal(sql, { name: "somebody", holder: "b" }, process);
  const folder = newFolder();
  await writeIdentity(folder, strange);
  writeFileSync(`${folder}/keys.json`, "{}");
  const options = { sql, folder, postgres: "host:5432/sluice", log };
  expect(await adoptJournal(options)).toEqual({ before: 1, number: 2 });
  expect(existsSync(`${folder}/keys.json`)).toBe(false);
  expect((await started(folder)).number).toBe(2);
  expect(await adoptJournal({ ...options, folder: newFolder() })).toBeUndefined();
});

test("a process whose journal another one has taken ends, and starts under a new number once it was adopted", async () => {
  const folder = newFolder();
  const pair = await started(folder);
  await sql`UPDATE journals SET holder = 'somebody else'`;
  await expect(pair.publish(openJournal())).rejects.toThrow("sluice journal adopt");
  expect((await pair.broken).message.split("\n")).toHaveLength(1);
  expect(pair.isBroken).toBe(true);
  await pair.publish(openJournal());
  await pair.leave();
  expect(await numbers()).toEqual([1]);
  await expect(open(folder)).rejects.toBeInstanceOf(UserError);
  await adoptJournal({ sql, folder, postgres: "host:5432/sluice", log });
  expect((await started(folder)).number).toBe(2);
  expect(await numbers()).toEqual([1, 2]);
});

test("a number that another journal has by now, as after a restored backup, is refused until it is adopted", async () => {
  const folder = newFolder();
  await (await started(folder)).leave();
  await sql`INSERT INTO journals (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'another')`;
  await expect(open(folder)).rejects.toThrow("sluice journal adopt");
  await adoptJournal({ sql, folder, postgres: "host:5432/sluice", log });
  expect((await started(folder)).number).toBe(2);
});

test("a start on a full disk claims its journal under the last name, which the next start knows", async () => {
  const folder = newFolder();
  await started(folder);
  const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
  const write = spyOn(systemIo, "open").mockRejectedValue(full);
  try {
    await started(folder);
  } finally {
    write.mockRestore();
  }
  expect(lines.join()).toContain("the journal's identity could not be written");
  expect((await started(folder)).number).toBe(1);
});

test("a folder that was moved keeps its number when nobody else tells of its journal", async () => {
  const folder = newFolder();
  const first = await started(folder);
  const moved = newFolder();
  cpSync(folder, moved, { recursive: true });
  const pair = await open(moved);
  expect(pair.number).toBe(first.number);
  // The one it was copied from finds out, and ends.
  await expect(first.publish(openJournal())).rejects.toBeInstanceOf(UserError);
  expect(first.isBroken).toBe(true);
}, 300_000);

test("a copy is refused while its original publishes, with nothing written, and starts once it was adopted", async () => {
  const folder = newFolder();
  const first = await started(folder);
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  const before = readdirSync(copy).map((name) => [name, readFileSync(`${copy}/${name}`, "utf8")]);
  let isOver = false;
  const publishing = (async () => {
    for (; !isOver; await Bun.sleep(50)) await first.publish(openJournal());
  })();
  try {
    const refusing = open(copy);
    await expect(refusing).rejects.toBeInstanceOf(UserError);
    await expect(refusing).rejects.toThrow("sluice journal adopt");
    expect(readdirSync(copy).map((name) => [name, readFileSync(`${copy}/${name}`, "utf8")])).toEqual(before);
    const adopted = await adoptJournal({ sql, folder: copy, postgres: "host:5432/sluice", log });
    expect(adopted).toEqual({ before: first.number, number: 2 });
    expect((await open(copy)).number).toBe(2);
  } finally {
    isOver = true;
    await publishing;
  }
  expect(await numbers()).toEqual([1, 2]);
}, 300_000);

test("a copy that is adopted again leaves no registration that nobody publishes under", async () => {
  const folder = newFolder();
  await started(folder);
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  const options = { sql, folder: copy, postgres: "host:5432/sluice", log };
  expect(await adoptJournal(options)).toEqual({ before: 1, number: 2 });
  expect(await adoptJournal(options)).toEqual({ before: 2, number: 3 });
  expect(await numbers()).toEqual([1, 3]);
});

test("a folder that was copied or moved takes nothing before its database has answered", async () => {
  const folder = newFolder();
  await started(folder);
  const moved = newFolder();
  cpSync(folder, moved, { recursive: true });
  const away = openPostgres("postgres://nobody@127.0.0.1:1/none", { log: silentLog });
  const opening = (where: string) =>
    openOwnership({ sql: away, folder: where, postgres: "host:5432/sluice", clock: systemClock, log });
  expect((await opening(folder)).number).toBe(1);
  await expect(opening(moved)).rejects.toThrow();
  await away.end();
}, 300_000);

test("a watermark is told to the journal's own database only, and by its own process", async () => {
  const { number, database } = await registerJournal(sql, { name: "told", holder: "a" }, process);
  const held = { name: "told", number, holder: "a", database };
  expect(await publishWatermarks(sql, held, process, marksAt(1), 1)).toBe(true);
  expect(await publishWatermarks(sql, { ...held, holder: "b" }, process, marksAt(2), 2)).toBe(false);
  expect(
    await publishWatermarks(sql, { ...held, database: crypto.randomUUID() }, process, marksAt(2), 2),
  ).toBe(false);
});

test("a server under which a newer version has begun what it cannot bear publishes nothing more, and says why", async () => {
  const folder = newFolder();
  const pair = await started(folder);
  const begin = async (older_go_on: boolean) =>
    void (await sql`
      INSERT INTO migrations_begun (store, version, name, older_go_on)
      VALUES ('clickhouse', 9000, 'later', ${older_go_on})
      ON CONFLICT (store, version) DO UPDATE SET older_go_on = excluded.older_go_on`);
  const seen = async () => (await sql<{ seen_at: Date | null }[]>`SELECT seen_at FROM journals`)[0]?.seen_at;
  try {
    await begin(true);
    await pair.publish(openJournal());
    const before = await seen();
    expect(before).toBeInstanceOf(Date);
    await begin(false);
    await expect(pair.publish(openJournal())).rejects.toThrow(UserError);
    expect((await pair.broken).message).toContain("run that one, or restore a backup");
    expect(await seen()).toEqual(before!);
  } finally {
    await sql`DELETE FROM migrations_begun WHERE version = 9000`;
  }
});

test("a journal's row says what its process knows and where it runs", async () => {
  await started(newFolder());
  const rows = await sql`SELECT postgres_migration, clickhouse_migration, location FROM journals`;
  const { postgres, clickhouse } = knownMigrations();
  expect(rows[0]).toMatchObject({ postgres_migration: postgres, clickhouse_migration: clickhouse });
  expect(rows[0]?.["location"]).toMatch(/^[^:]+:\//);
});

test("a Postgres is looked for at the same place when host and name are the same", () => {
  expect(isSameDatabase("db:5432/sluice", "db:6432/sluice")).toBe(true);
  expect(isSameDatabase("db/sluice", "db:6432/sluice")).toBe(true);
  expect(isSameDatabase("[::1]:5432/sluice", "[::2]:5432/sluice")).toBe(false);
  expect(isSameDatabase("db:5432/sluice", "db:5432/other")).toBe(false);
  expect(isSameDatabase(embeddedAddress, "db:5432/sluice")).toBe(false);
});

test("the place of a Postgres tells neither user nor password", () => {
  expect(nameDatabase(undefined)).toBe("embedded");
  expect(nameDatabase("postgres://me:se%40cret@db.example:5432/sluice?sslmode=require")).toBe(
    "db.example:5432/sluice",
  );
  expect(nameDatabase("postgres://db.example/sluice")).toBe("db.example/sluice");
});
