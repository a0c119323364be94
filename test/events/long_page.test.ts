import { afterAll, beforeAll, expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { listEvents } from "../../src/events/store.ts";
import { httpLimits } from "../../src/http/limits.ts";
import { type ClickHouse, readsUntil } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let stores: Stores;
let clickhouse: ClickHouse;

/** Longer than two pages may be; each event says its number. */
const events = 300;
const propertyBytes = 500_000;

const columns =
  "(uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row)";

async function insert(select: string): Promise<void> {
  await clickhouse.command(
    `INSERT INTO event_rows ${columns} ${select} SETTINGS max_block_size = 20, max_threads = 1`,
  );
}

beforeAll(async () => {
  stores = await openMadeStores();
  clickhouse = stores.clickhouse;
  // Over three days, under names and ids that do not follow their order; some share their moment.
  await insert(`SELECT generateUUIDv4(), 1, concat('e', toString(number % 7)), concat('u"', toString(number % 11)),
      concat('{"n":', toString(number), ',"text":"', repeat('é', ${propertyBytes / 2}), '"}'),
      toDateTime64('2024-05-04 00:00:00', 6, 'UTC') - toIntervalMinute(intDiv(number, 2) * 20),
      now64(6, 'UTC'), false, 1, number
    FROM numbers(${events})`);
}, storesStartMsMax);

async function textOf(pieces: Uint8Array | AsyncGenerator<Uint8Array, void>): Promise<string> {
  if (pieces instanceof Uint8Array) return Buffer.from(pieces).toString();
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

interface Shown {
  uuid: string;
  distinct_id: string;
  properties: { n: number; text: string };
}

async function read(limit: number, offset: number): Promise<Shown[]> {
  const page = await listEvents(toReads(clickhouse, 1), {}, { limit, offset });
  expect(page.count).toBe(events);
  return JSON.parse(`[${(await textOf(page.rows)).slice(1)}]`) as Shown[];
}

async function refused(limit: number): Promise<Fault> {
  const thrown: unknown = await listEvents(toReads(clickhouse, 1), {}, { limit, offset: 0 }).catch(
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof Fault)) throw thrown;
  return thrown;
}

test(
  "a page too long to be sent is refused with a limit that fits, and never cut short",
  async () => {
    const fault = await refused(events);
    expect(fault).toMatchObject({ code: "max_value", attr: "limit" });
    const fits = Number(/limit=(\d+)/.exec(fault.detail)?.[1]);
    const each = Math.floor(httpLimits.pageBytesMax / propertyBytes);
    expect(fits).toBeGreaterThan(each - 3);
    expect(fits).toBeLessThanOrEqual(each);
    expect(await read(fits, 0)).toHaveLength(fits);
    expect((await refused(fits + 1)).detail).toBe(fault.detail);
  },
  storesStartMsMax,
);

test(
  "a page in blocks has the events of its place, in their order, as they were sent",
  async () => {
    const order = await clickhouse.query<{ uuid: string }>(
      "SELECT uuid FROM events WHERE project_id = 1 ORDER BY timestamp DESC, uuid DESC",
    );
    const offset = 55;
    const limit = 60;
    const page = await listEvents(toReads(clickhouse, 1), {}, { limit, offset });
    expect(page.rows).not.toBeInstanceOf(Uint8Array);
    const shown = await read(limit, offset);
    expect(shown.map(({ uuid }) => uuid)).toEqual(
      order.slice(offset, offset + limit).map(({ uuid }) => uuid),
    );
    for (const { properties, distinct_id } of shown) {
      expect(distinct_id).toBe(`u"${properties.n % 11}`);
      expect(properties.text).toBe("é".repeat(propertyBytes / 2));
    }
  },
  storesStartMsMax,
);

test(
  "a page in blocks is held a block at a time, whatever its limit is",
  async () => {
    const asked: number[] = [];
    const watched: ClickHouse = {
      ...clickhouse,
      bytes: async (text, params, options) => {
        const answer = await clickhouse.bytes(text, params, options);
        asked.push(answer.length);
        return answer;
      },
    };
    const { rows: pieces } = await listEvents(toReads(watched, 1), {}, { limit: 100, offset: 0 });
    // One block is read before the reply begins; the next when it is asked for.
    expect(asked).toHaveLength(1);
    await textOf(pieces);
    expect(asked.length).toBeGreaterThan(10);
    for (const bytes of asked) expect(bytes).toBeLessThanOrEqual(httpLimits.pageBlockBytes + propertyBytes);
  },
  storesStartMsMax,
);

test(
  "a page that nobody waits for any more reads no further block",
  async () => {
    const leaving = new AbortController();
    const until = readsUntil(clickhouse, leaving.signal);
    const { rows: pieces } = await listEvents(toReads(until, 1), {}, { limit: 100, offset: 0 });
    leaving.abort();
    await expect(textOf(pieces)).rejects.toMatchObject({ type: "ABORTED" });
  },
  storesStartMsMax,
);

test(
  "an event that was sent twice is shown as it came first",
  async () => {
    const again = (created: string, n: number) =>
      insert(`SELECT toUUID('0190f7a2-0000-7000-8000-000000000001'), 2, 'e', 'u',
        concat('{"n":', toString(${n}), ',"text":"', repeat('x', 900000), '"}'),
        toDateTime64('2024-05-04 00:00:00', 6, 'UTC'), toDateTime64('${created}', 6, 'UTC'), false, 2, 0`);
    await again("2024-05-05 00:00:02", 2);
    await again("2024-05-05 00:00:01", 1);
    await insert(`SELECT generateUUIDv4(), 2, 'e', 'other', concat('{"text":"', repeat('x', 900000), '"}'),
      toDateTime64('2024-05-04 00:00:00', 6, 'UTC'), now64(6, 'UTC'), false, 3, number FROM numbers(20)`);
    const page = await listEvents(toReads(clickhouse, 2), {}, { limit: 100, offset: 0 });
    expect(page.rows).not.toBeInstanceOf(Uint8Array);
    const shown = JSON.parse(`[${(await textOf(page.rows)).slice(1)}]`) as Shown[];
    expect(shown).toHaveLength(21);
    expect(shown.flatMap(({ properties }) => properties.n ?? [])).toEqual([1]);
  },
  storesStartMsMax,
);
