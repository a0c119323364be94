// The files of migrations: what each says of older servers.

import { expect, test } from "bun:test";
import {
  knownMigrations,
  packageFolder,
  readFolder,
  storeNames,
} from "../../../src/storage/migrations/files.ts";
import { folders, ownAnd } from "../../support/migrations.ts";

const known = knownMigrations();
const goOn = "-- Older servers: go on.\n-- Takes: a moment.\nSELECT 1;\n";
const mustStop = "-- Older servers: must stop.\n-- Takes: a moment.\nSELECT 1;\n";

test("a file states in its first line whether older servers can continue beside it", () => {
  const [own, more, other] = [0, 1, 2].map((after) => String(known.postgres + after).padStart(4, "0"));
  const { postgresDir } = ownAnd({ [`${more}_more.sql`]: goOn, [`${other}_other.sql`]: mustStop }, {});
  const said = readFolder(postgresDir).slice(-3);
  expect(said.map(({ name, olderGoOn }) => [name.slice(0, 4), olderGoOn])).toEqual([
    [own!, expect.any(Boolean)],
    [more!, true],
    [other!, false],
  ]);
});

test("a file that says nothing, or something else, or says it later, is refused and named", () => {
  for (const text of [
    "SELECT 1;",
    "-- Older servers: maybe.\nSELECT 1;",
    `\n${goOn}`,
    `SELECT 1;\n${goOn}`,
    "",
  ]) {
    const name = `${String(known.clickhouse + 1).padStart(4, "0")}_more.sql`;
    const { clickhouseDir } = ownAnd({}, { [name]: text });
    expect(() => readFolder(clickhouseDir)).toThrow(
      `sql/clickhouse/${name}: expected one of these as its first line: ` +
        "-- Older servers: go on. -- Older servers: must stop.",
    );
  }
});

test("a file says in its second line how long it takes for 20 million events, and how that is known", () => {
  const name = `${String(known.clickhouse + 1).padStart(4, "0")}_more.sql`;
  const durationOf = (line: string) =>
    readFolder(ownAnd({}, { [name]: `-- Older servers: go on.\n${line}\nSELECT 1;\n` }).clickhouseDir).at(-1)!
      .duration;
  expect(durationOf("-- Takes: a moment.")).toEqual({ seconds: 0, isMeasured: true });
  expect(durationOf("-- Takes: 480 s for 20 million events, measured.")).toEqual({
    seconds: 480,
    isMeasured: true,
  });
  expect(durationOf("-- Takes: 90 s for 20 million events, estimated.")).toEqual({
    seconds: 90,
    isMeasured: false,
  });
  for (const line of ["", "-- Takes: long.", "-- Takes: 0 s for 20 million events, measured.", "SELECT 1;"]) {
    expect(() => durationOf(line)).toThrow(
      `sql/clickhouse/${name}: expected as its second line "-- Takes: a moment." or ` +
        '"-- Takes: N s for 20 million events, measured." (or estimated)',
    );
  }
});

test("a baseline needs no header, and has the number of the last file whose work it does", () => {
  const more = { "0003_more.sql": goOn, "0004_other.sql": mustStop };
  const { postgresDir } = folders({ "0003_baseline.sql": "SELECT 1;", ...more }, {});
  const said = readFolder(postgresDir).map(({ name, isBaseline, olderGoOn }) => [
    name,
    isBaseline,
    olderGoOn,
  ]);
  expect(said).toEqual([
    ["0003_baseline.sql", true, true],
    ["0003_more.sql", false, true],
    ["0004_other.sql", false, false],
  ]);
  const gap = folders({ "0003_baseline.sql": "SELECT 1;", "0005_more.sql": goOn }, {});
  expect(() => readFolder(gap.postgresDir)).toThrow("0005_more.sql: expected 0004_name.sql here");
  const twice = folders({ "0003_more.sql": goOn, "0003_other.sql": goOn }, {});
  expect(() => readFolder(twice.postgresDir)).toThrow("0003_other.sql: expected 0004_name.sql here");
});

test("a file that fills tables from the events that are there says how long it takes", () => {
  const readers = storeNames.flatMap((store) =>
    readFolder(packageFolder(store)).filter(({ text }) =>
      /^INSERT (?:(?!;)[^])*?FROM event_rows/m.test(text),
    ),
  );
  expect(readers.filter(({ duration }) => duration.seconds === 0)).toEqual([]);
});

test("what this program knows is what its folders hold, up to their last number", () => {
  const last = storeNames.map((store) => readFolder(packageFolder(store)).at(-1)!.version);
  expect(storeNames.map((store) => knownMigrations()[store])).toEqual(last);
});
