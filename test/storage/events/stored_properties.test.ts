// The keys of stored events.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { keyDay } from "../../../src/storage/events/stored_properties.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

let stores: Stores;
beforeAll(async () => (stores = await openMadeStores()), storesStartMsMax);
afterAll(cleanUp, storesStartMsMax);

test("the day of a key is the engine's own, also where its dates end", async () => {
  const moments = ["1900-01-01 00:00:00.000000", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000000"];
  moments.push("2024-02-29 23:59:59.999999", "2149-06-06 12:00:00.000000", "2199-12-31 00:00:00.000001");
  const rows = await stores.clickhouse.query<{ day: string; micros: string }>(
    `SELECT toString(toDate(at)) AS day, toString(toUnixTimestamp64Micro(at)) AS micros
     FROM (SELECT toDateTime64(arrayJoin({moments:Array(String)}), 6, 'UTC') AS at)`,
    { moments },
  );
  expect(rows).toHaveLength(moments.length);
  for (const { day, micros } of rows) expect([micros, keyDay(BigInt(micros))]).toEqual([micros, day]);
});
