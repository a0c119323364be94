import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import {
  checkEngine,
  engineFunctions,
  engineSettings,
  findEngineProblem,
  tableSettings,
} from "../../../src/storage/clickhouse/engine_check.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestStores } from "../../support/stores.ts";

afterAll(cleanUp);

let clickhouse: ClickHouse;
beforeAll(async () => {
  ({ clickhouse } = await openTestStores());
  await clickhouse.createDatabase();
});

const root = resolve(import.meta.dir, "../../..");

const whole = { version: "26.7.2.1", settings: [], fixed: [], table_settings: [], functions: [] };

test("the engine that comes with us has all that is needed", async () => {
  await checkEngine(clickhouse);
});

test("an engine before 24.8 is too old, and 24.8 is not", () => {
  expect(findEngineProblem({ ...whole, version: "24.8.1.2684" })).toBeUndefined();
  expect(findEngineProblem({ ...whole, version: "25.3.2.39" })).toBeUndefined();
  expect(findEngineProblem({ ...whole, version: "24.7.6.8" })).toBe(
    "ClickHouse 24.7.6.8 is too old: 24.8 or a newer one is needed",
  );
  expect(findEngineProblem({ ...whole, version: "23.3.1.1", functions: ["arrayFold"] })).toBe(
    "ClickHouse 23.3.1.1 is too old: 24.8 or a newer one is needed (it lacks the function arrayFold)",
  );
});

test("what is missing is named in one line", () => {
  const lacking = { ...whole, settings: ["one", "two"], table_settings: ["three"], functions: ["four"] };
  expect(findEngineProblem(lacking)).toBe(
    "ClickHouse 26.7.2.1 lacks the settings one, two, the table setting three, the function four",
  );
  expect(findEngineProblem({ ...whole, fixed: ["max_threads"] })).toBe(
    "its user may not change the setting max_threads",
  );
});

test("an engine that lacks something is refused by the name of its variable", async () => {
  const poor = {
    ...clickhouse,
    query: async () => [{ ...whole, settings: ["insert_deduplicate"] }] as never,
  };
  await expect(checkEngine(poor)).rejects.toThrow(
    "CLICKHOUSE_URL: ClickHouse 26.7.2.1 lacks the setting insert_deduplicate",
  );
});

/** Names of settings that mean something else where they stand, are only looked at, or are sent where they are known. */
const others = [
  "allow_archive_path_syntax",
  "cloud_mode",
  "connect_timeout",
  "deduplicate_insert",
  "enable_analyzer",
  "engine_file_truncate_on_insert",
  "insert_quorum",
];

test("every setting that a statement of ours names is checked", async () => {
  const known = await clickhouse.query<{ name: string }>("SELECT name FROM system.settings");
  const own = /^storage\/(?:chdb_server|embedded)\//;
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const code = files
    .filter((name) => name.endsWith(".ts") && !own.test(name) && !name.endsWith("engine_check.ts"))
    .map((name) => readFileSync(join(root, "src", name), "utf8").replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, ""))
    .join("\n");
  const words = new Set(code.match(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g));
  const named = known.map(({ name }) => name).filter((name) => words.has(name) && !others.includes(name));
  expect(named.filter((name) => !engineSettings.includes(name))).toEqual([]);
  expect(engineSettings.filter((name) => !words.has(name))).toEqual([]);
});

test("every table setting of sql/ is checked", async () => {
  const known = await clickhouse.query<{ name: string }>("SELECT name FROM system.merge_tree_settings");
  const sql = readdirSync(join(root, "sql/clickhouse"))
    .map((name) => readFileSync(join(root, "sql/clickhouse", name), "utf8"))
    .join("\n");
  const words = new Set(sql.match(/\b[a-z][a-z0-9_]+(?= = )/g));
  expect(
    known
      .map(({ name }) => name)
      .filter((name) => words.has(name))
      .toSorted(),
  ).toEqual(tableSettings);
});

test("the functions that are checked are used", () => {
  const folders = [join(root, "src"), join(root, "sql")];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(?:ts|sql)$/.test(name) && !name.endsWith("engine_check.ts"))
      .map((name) => readFileSync(join(folder, name), "utf8")),
  );
  const text = files.join("\n");
  expect(engineFunctions.filter((name) => !text.includes(`${name}(`))).toEqual([]);
});
