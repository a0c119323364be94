import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { openLog } from "../../../src/core/log.ts";
import { reportLeftBehind } from "../../../src/storage/embedded/left_behind.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

let lines: Record<string, unknown>[] = [];
beforeEach(() => void (lines = []));
const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
const log = openLog({ level: "warn", format: "json", write });

/** A folder in which embedded stores have rested, as far as is looked at. */
function usedFolder(): string {
  const folder = makeFolder();
  for (const name of ["postgres", "clickhouse/store/abc"])
    mkdirSync(`${folder}/${name}`, { recursive: true });
  writeFileSync(`${folder}/postgres/PG_VERSION`, "18\n");
  return folder;
}

const databaseUrl = "postgres://me:secret@db/sluice";
const clickhouseUrl = "http://me:secret@ch/sluice";

test("each embedded store that settings leave behind is reported with its folder, and without a password", () => {
  const dataDir = usedFolder();
  reportLeftBehind({ dataDir, databaseUrl, clickhouseUrl }, log);
  expect(lines).toMatchObject([
    { level: "warn", folder: `${dataDir}/postgres` },
    { level: "warn", folder: `${dataDir}/clickhouse` },
  ]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});

test("embedded events with accounts elsewhere are reported to appear in other projects", () => {
  reportLeftBehind({ dataDir: usedFolder(), databaseUrl, clickhouseUrl: undefined }, log);
  expect(lines).toMatchObject([{ events: expect.stringContaining("numbers") }]);
});

test("nothing is reported of a folder that never had any, nor where the stores are still used", () => {
  reportLeftBehind({ dataDir: makeFolder(), databaseUrl, clickhouseUrl }, log);
  reportLeftBehind({ dataDir: usedFolder(), databaseUrl: undefined, clickhouseUrl: undefined }, log);
  expect(lines).toEqual([]);
});
