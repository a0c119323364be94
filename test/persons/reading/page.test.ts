import { afterAll, beforeAll, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { groupBlocks } from "../../../src/groups/store.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { findPagePersons, personBlocks } from "../../../src/persons/reading/store.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../../src/storage/clickhouse/query_options.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

let clickhouse: ClickHouse;

/** Together longer than a page may be; each has two properties of half its bytes. */
const count = 150;
const propertyBytes = 250_000;
const ids = Array.from({ length: count }, (_, i) => `p${String(i).padStart(3, "0")}`);
const settings = "SETTINGS max_block_size = 20, max_threads = 1";
const id = (kind: string) => `concat('${kind}', leftPad(toString(intDiv(number, 2)), 3, '0'))`;
const change = `tuple(toInt64(5), toUInt128(number), toInt8(0), concat('"', repeat('x', ${propertyBytes}), '"'))`;
const key = "concat('key', toString(number % 2))";

beforeAll(async () => {
  const stores = await openMadeStores();
  clickhouse = stores.clickhouse;
  const from = `FROM numbers(${count * 2}) ${settings}`;
  const now = "now64(6, 'UTC')";
  for (const text of [
    `INSERT INTO person_props (project_id, distinct_id, key, kind, w) SELECT 1, ${id("p")}, ${key}, 0, ${change} ${from}`,
    `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
     SELECT 1, ${id("p")}, ${now}, ${now}, ${now}, ${now} ${from}`,
    `INSERT INTO group_props (project_id, group_type, group_key, key, w) SELECT 1, 'company', ${id("g")}, ${key}, ${change} ${from}`,
    `INSERT INTO groups_seen (project_id, group_type, group_key, first, changed)
     SELECT 1, 'company', ${id("g")}, ${now}, ${now} ${from}`,
    "INSERT INTO group_type_rows (project_id, group_type, place, version) VALUES (1, 'company', 0, 1)",
  ])
    await clickhouse.command(text);
}, storesStartMsMax);

interface Read {
  rows: { properties: string }[];
  blocks: number;
}

async function all(blocks: AsyncGenerator<{ properties: string }[], void>): Promise<Read> {
  const read: Read = { rows: [], blocks: 0 };
  for await (const rows of blocks) {
    read.rows.push(...rows);
    read.blocks++;
  }
  return read;
}

async function fitting(reading: Promise<unknown>): Promise<number> {
  const thrown: unknown = await reading.catch((reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw thrown;
  expect(thrown).toMatchObject({ code: "max_value", attr: "limit" });
  return Number(/limit=(\d+)/.exec(thrown.detail)?.[1]);
}

function expectWhole({ rows, blocks }: Read, length: number): void {
  expect(rows).toHaveLength(length);
  const inBlock = Math.ceil(httpLimits.pageBlockBytes / (propertyBytes * 2));
  expect(blocks).toBeGreaterThanOrEqual(Math.floor(length / inBlock));
  for (const { properties } of rows) {
    const read = JSON.parse(properties) as Record<string, string>;
    expect(Object.values(read).map((value) => value.length)).toEqual([propertyBytes, propertyBytes]);
  }
}

test(
  "persons that are too long for a page are refused with a limit that fits, and read in blocks within it",
  async () => {
    const fits = await fitting(all(personBlocks(toReads(clickhouse, 1), ids)));
    expect(fits).toBe(Math.floor(httpLimits.pageBytesMax / (propertyBytes * 2 + 12)));
    expectWhole(await all(personBlocks(toReads(clickhouse, 1), ids.slice(0, 40))), 40);
    const one = await all(personBlocks(toReads(clickhouse, 1), ids.slice(0, 1)));
    expect([one.rows.length, one.blocks]).toEqual([1, 1]);
  },
  storesStartMsMax,
);

test(
  "the persons beside a page of recordings are read in blocks too, and refused likewise",
  async () => {
    expect(await fitting(findPagePersons(toReads(clickhouse, 1), ids))).toBeGreaterThan(100);
    const found = await findPagePersons(toReads(clickhouse, 1), ids.slice(0, 80));
    expect([...found.keys()].toSorted()).toEqual(ids.slice(0, 80));
  },
  storesStartMsMax,
);

test(
  "groups that are too long for a page are refused with a limit that fits, and read in blocks within it",
  async () => {
    const keys = ids.map((one) => ({ group_type: "company", group_key: one.replace("p", "g") }));
    const fits = await fitting(all(groupBlocks(toReads(clickhouse, 1), keys)));
    expect(fits).toBe(Math.floor(httpLimits.pageBytesMax / (propertyBytes * 2 + 12)));
    expectWhole(await all(groupBlocks(toReads(clickhouse, 1), keys.slice(0, 40))), 40);
  },
  storesStartMsMax,
);
