// What a native_query writes into files: moments as the events model writes its own, in every format.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUp } from "../support/cleanup.ts";
import { type ExportProcess, openExportProcess } from "../support/export_process.ts";
import { makeFolder } from "../support/folder.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let exports: ExportProcess;
const root = makeFolder();

beforeAll(async () => {
  exports = await openExportProcess();
  exports.open({ exportFileDir: root });
}, storesStartMsMax);

const native_query = `SELECT uuid, timestamp, created_at, _inserted_at, toStartOfHour(created_at) AS hour,
  toTimeZone(created_at, 'Europe/Paris') AS paris, nullIf(timestamp, timestamp) AS none,
  if(event = 'e', timestamp, NULL) AS perhaps, toDate(created_at) AS day, toString(timestamp) AS words,
  event AS event, properties FROM events`;

async function written(
  file_format: string,
  asked: { native_query?: string; split?: boolean },
): Promise<string> {
  const path = crypto.randomUUID();
  const size = asked.split ? { max_file_size_mb: 1 } : {};
  const { latest_error } = await exports.exported({
    type: "File",
    config: { path, file_format, ...size },
    ...(asked.native_query === undefined ? {} : { native_query: asked.native_query }),
  });
  expect(latest_error).toBeNull();
  const names = readdirSync(join(root, path)).toSorted();
  return join(
    root,
    path,
    names.find((name) => !name.endsWith("manifest.json"))!,
  );
}

const linesOf = (file: string): Record<string, unknown>[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .toSorted((a, b) => (String(a["uuid"]) < String(b["uuid"]) ? -1 : 1));

/** Of rows that all came at one moment. */
const expected = {
  hour: "2030-05-05T11:00:00.000000+00:00",
  paris: "2030-05-05T11:59:59.999000+00:00",
  none: null,
  perhaps: "2030-01-01T00:00:00.000000+00:00",
  day: "2030-05-05",
  words: "2030-01-01 00:00:00.000000",
  event: "e",
  properties: {},
};

test(
  "JSON lines hold the moments of a native_query as they hold those of events",
  async () => {
    const plain = linesOf(await written("JSONLines", {}));
    const own = linesOf(await written("JSONLines", { native_query }));
    expect(own).toEqual(
      plain.map(({ uuid, timestamp, created_at, _inserted_at }) => ({
        uuid,
        timestamp,
        created_at,
        _inserted_at,
        ...expected,
      })),
    );
    expect(own[0]!["timestamp"]).toBe("2030-01-01T00:00:00.000000+00:00");
    expect(linesOf(await written("JSONLines", { native_query, split: true }))).toEqual(own);
  },
  storesStartMsMax,
);

test(
  "CSV holds them likewise, and nothing where there is none",
  async () => {
    const cells = (file: string): string[][] =>
      readFileSync(file, "utf8")
        .trimEnd()
        .split("\n")
        .slice(1)
        .map((line) => line.slice(1, -1).split('","'))
        .toSorted();
    const plain = cells(await written("CSV", {}));
    const own = cells(await written("CSV", { native_query }));
    const { properties: _, ...texts } = { ...expected, none: "" };
    expect(own).toEqual(plain.map((row) => [row[0]!, ...row.slice(-3), ...Object.values(texts), "{}"]));
  },
  storesStartMsMax,
);

test(
  "Parquet holds them as timestamps in microseconds of UTC, and a day as a date",
  async () => {
    const typesOf = async (file: string): Promise<Record<string, string>> => {
      const [described] = await exports.stores.clickhouse.query<{ columns: [string, string, string][] }>(
        `SELECT arrayMap(c -> (c.name, c.physical_type, c.logical_type), columns) AS columns
       FROM file({file:String}, 'ParquetMetadata')`,
        { file },
      );
      return Object.fromEntries(
        described!.columns.map(([name, physical, logical]) => [name, `${physical} ${logical}`]),
      );
    };
    const plain = await typesOf(await written("Parquet", {}));
    const file = await written("Parquet", { native_query });
    const own = await typesOf(file);
    const moment = plain["timestamp"]!;
    expect(moment).toContain("Timestamp(isAdjustedToUTC=true, timeUnit=microseconds");
    for (const name of ["timestamp", "created_at", "_inserted_at", "hour", "paris", "none", "perhaps"]) {
      expect([name, own[name]]).toEqual([name, moment]);
    }
    expect(own["day"]).toBe("INT32 Date");
    const [row] = await exports.stores.clickhouse.query<Record<string, unknown>>(
      `SELECT toString(hour) AS hour, toString(paris) AS paris, none, toString(perhaps) AS perhaps, toString(day) AS day,
      words, event, properties FROM file({file:String}, 'Parquet') LIMIT 1`,
      { file },
    );
    const spaced = (text: string) => text.replace("T", " ").replace("+00:00", "");
    expect(row).toEqual({
      ...expected,
      hour: spaced(expected.hour),
      paris: spaced(expected.paris),
      perhaps: spaced(expected.perhaps),
      properties: "{}",
    });
  },
  storesStartMsMax,
);

// PostHog's documents name the project team_id in SQL.
test("a native_query may name its project", async () => {
  const lines = linesOf(
    await written("JSONLines", {
      native_query: "SELECT uuid, team_id AS project FROM events WHERE team_id > 0",
    }),
  );
  expect(new Set(lines.map(({ project }) => project))).toEqual(new Set([1]));
});

// airbytehq/airbyte#4396: what is always null has no type in Parquet, and the run was retried for three hours.
test(
  "a column that is always null is one of texts, and a day before 1970 is that day",
  async () => {
    const always = `SELECT event, NULL AS x, toDate(subtractMonths(timestamp, 732)) AS early FROM events`;
    const file = await written("Parquet", { native_query: always });
    const read =
      "SELECT event, x, toString(early) AS early, toTypeName(x) AS type FROM file({file:String}, 'Parquet')";
    const [row] = await exports.stores.clickhouse.query(read, { file });
    expect(row).toEqual({ event: "e", x: null, early: "1969-01-01", type: "Nullable(String)" });
    const [line] = linesOf(await written("JSONLines", { native_query: always }));
    expect(line).toEqual({ event: "e", x: null, early: "1969-01-01" });
    const csv = readFileSync(await written("CSV", { native_query: always }), "utf8");
    expect(csv).toContain('"e","","1969-01-01"');
  },
  storesStartMsMax,
);
