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
const goOn = "-- Older servers: go on.\nSELECT 1;\n";
const mustStop = "-- Older servers: must stop.\nSELECT 1;\n";

test("a file says in its first line whether older servers can go on beside it", () => {
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

test("files from before that rule say nothing: older servers must stop for them", () => {
  const { postgresDir } = folders({ "0001_things.sql": "SELECT 1;", "0002_more.sql": "SELECT 1;" }, {});
  expect(readFolder(postgresDir).map(({ olderGoOn }) => olderGoOn)).toEqual([false, false]);
});

test("what this program knows is what its folders hold", () => {
  const counts = storeNames.map((store) => readFolder(packageFolder(store)).length);
  expect(storeNames.map((store) => knownMigrations()[store])).toEqual(counts);
});
