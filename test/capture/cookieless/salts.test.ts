import { afterAll, expect, test } from "bun:test";
import { openSalts, type Salts } from "../../../src/capture/cookieless/day.ts";
import { saltSource } from "../../../src/capture/cookieless/store.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { keptSalts, saltsOf } from "../../support/salts.ts";
import { until } from "../../support/server.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

const hour = 3_600_000;

/** Whether there is a salt for every day whose events are accepted. */
function isWhole({ wholeFrom, wholeUntil }: Salts, now: number): boolean {
  return now >= wholeFrom && now < wholeUntil;
}

function clockAt(text: string) {
  const clock = { at: Date.parse(text), now: () => clock.at, elapsed: () => clock.at };
  return clock;
}

/**
 * How many rows the file of cookieless_salts holds, deleted ones included: what its only page points to. A pointer has
 * four bytes, behind a header of 24 whose bytes 12 and 13 say where they end; its bits 15 and 16 say 1 of a row that is
 * there.
 */
async function rowsInFile(sql: Postgres): Promise<number> {
  await sql`CHECKPOINT`;
  const [file] = await sql<{ hex: string }[]>`
    SELECT encode(pg_read_binary_file(pg_relation_filepath('cookieless_salts')), 'hex') AS hex`;
  const page = Buffer.from(file!.hex, "hex");
  expect(page.length).toBe(8192);
  const pointers = Array.from({ length: (page.readUInt16LE(12) - 24) / 4 }, (_, i) =>
    page.readUInt32LE(24 + 4 * i),
  );
  return pointers.filter((pointer) => ((pointer >>> 15) & 3) === 1).length;
}

test("processes that share a Postgres agree on each day's salt, also one that starts later", async () => {
  const clock = clockAt("2026-03-05T12:00:00Z");
  const source = keptSalts();
  const [one, two] = await Promise.all([saltsOf(source, clock), saltsOf(source, clock)]);
  expect(one.days.size).toBe(6);
  expect(one.days).toEqual(two.days);
  expect(new Set([...one.days.values()].map((salt) => Buffer.from(salt).toString("hex"))).size).toBe(6);
  expect((await saltsOf(source, clock)).days).toEqual(one.days);
  expect([...one.days.values()].every((salt) => salt.length === 32)).toBe(true);
});

test("days come and go while a process runs: Postgres is asked once a day, and what is over is gone everywhere", async () => {
  const clock = clockAt("2026-03-05T12:00:00Z");
  const source = keptSalts();
  const salts = await saltsOf(source, clock);
  const first = new Map(salts.days);
  for (let hours = 0; hours < 24 * 10; hours++) {
    clock.at += hour;
    await salts.poll();
    expect(isWhole(salts, clock.at)).toBe(true);
  }
  expect([...salts.days.keys()].toSorted()[0]! > [...first.keys()].toSorted().at(-1)!).toBe(true);
  expect([...source.stored.keys()].toSorted()).toEqual([...salts.days.keys()].toSorted());
  // A new day, and an old one that is over.
  expect(source.asked).toBeLessThanOrEqual(1 + 2 * 11);
});

test("while Postgres is away the known salts go on until a day begins that has none, and are forgotten in time", async () => {
  const clock = clockAt("2026-03-05T12:00:00Z");
  const source = keptSalts();
  const salts = await saltsOf(source, clock);
  source.isAway = true;
  const last = [...salts.days.keys()].toSorted().at(-1)!;
  const wholeUntil = Date.parse(last) + 24 * hour - 14 * hour;
  for (; clock.at < wholeUntil; clock.at += hour) {
    await salts.poll().catch(() => {});
    expect([clock.at, isWhole(salts, clock.at)]).toEqual([clock.at, true]);
  }
  await expect(salts.poll()).rejects.toThrow();
  expect(isWhole(salts, clock.at)).toBe(false);
  clock.at += 10 * 24 * hour;
  await expect(salts.poll()).rejects.toThrow();
  expect(salts.days.size).toBe(0);
  source.isAway = false;
  await salts.poll();
  expect(isWhole(salts, clock.at)).toBe(true);
});

test("a process that never reached Postgres has no salt, and gets them when it does", async () => {
  const clock = clockAt("2026-03-05T12:00:00Z");
  const source = keptSalts();
  source.isAway = true;
  const salts = await saltsOf(source, clock);
  expect([salts.days.size, isWhole(salts, clock.at)]).toEqual([0, false]);
  source.isAway = false;
  await salts.poll();
  expect([salts.days.size, isWhole(salts, clock.at)]).toEqual([6, true]);
});

test(
  "Postgres keeps one salt a day, whoever makes it first, and deletes those of days that are over",
  async () => {
    const stores = await openMadeStores();
    const clock = clockAt("2026-03-05T12:00:00Z");
    const { sql } = stores;
    const both = await Promise.all([1, 2, 3, 4].map(() => openSalts(sql, clock, silentLog)));
    for (const salts of both) expect(salts.days).toEqual(both[0]!.days);
    expect(isWhole(both[0]!, clock.at)).toBe(true);
    const later = clockAt("2026-03-08T16:00:00Z");
    const next = await openSalts(sql, later, silentLog);
    const days = async () =>
      (await sql<{ day: string }[]>`SELECT day::text FROM cookieless_salts ORDER BY day`).map(
        ({ day }) => day,
      );
    expect(await days()).toEqual(["2026-03-06", "2026-03-07", "2026-03-08", "2026-03-09", "2026-03-10"]);
    expect(next.days.get("2026-03-06")).toEqual(both[0]!.days.get("2026-03-06")!);
    expect(next.days.has("2026-03-05")).toBe(false);
    // What was deleted is not left in the table's pages either.
    const keep = () =>
      saltSource(sql).replace(["2026-03-06", "2026-03-07"], [new Uint8Array(32), new Uint8Array(32)]);
    // Another connection's snapshot may keep it once.
    await until(async () => {
      await keep();
      return (await rowsInFile(sql)) === 5;
    });
    const made = await keep();
    expect(made.get("2026-03-06")).toEqual(next.days.get("2026-03-06")!);
    await Promise.all([...both, next].map((salts) => salts.close()));
    expect([next.days.size, isWhole(next, later.at)]).toEqual([0, false]);
  },
  storesStartMsMax,
);
