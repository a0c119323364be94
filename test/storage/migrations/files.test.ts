// The files of migrations: what each says of older servers.

import { expect, test } from "bun:test";
import {
  knownMigrations,
  packageFolder,
  readFolder,
  storeNames,
} from "../../../src/storage/migrations/files.ts";
import { folders, ownAnd } from "../../support/migrations.ts";

const goOn = "-- Older servers: go on.\nSELECT 1;\n";
const mustStop = "-- Older servers: must stop.\nSELECT 1;\n";

test("a file says in its first line whether older servers can go on beside it", () => {
  const { postgresDir } = ownAnd({ "0010_more.sql": goOn, "0011_other.sql": mustStop }, {});
  const said = readFolder(postgresDir).map(({ olderGoOn }) => olderGoOn);
  expect(said.slice(8)).toEqual([true, true, false]);
});

test("a file that says nothing, or something else, or says it later, is refused and named", () => {
  for (const text of [
    "SELECT 1;",
    "-- Older servers: maybe.\nSELECT 1;",
    `\n${goOn}`,
    `SELECT 1;\n${goOn}`,
    "",
  ]) {
    const { clickhouseDir } = ownAnd({}, { "0009_more.sql": text });
    expect(() => readFolder(clickhouseDir)).toThrow(
      "sql/clickhouse/0009_more.sql: expected one of these as its first line: " +
        "-- Older servers: go on. -- Older servers: must stop.",
    );
  }
});

test("files from before that rule say nothing: older servers must stop for them", () => {
  const { postgresDir } = folders({ "0001_things.sql": "SELECT 1;", "0002_more.sql": "SELECT 1;" }, {});
  expect(readFolder(postgresDir).map(({ olderGoOn }) => olderGoOn)).toEqual([false, false]);
});

test("what this program knows is what its folders hold", () => {
  const counts = storeNames.map((store) => readFolder(packageFolder(store)).length);
  expect(storeNames.map((store) => knownMigrations()[store])).toEqual(counts);
});
