// Lists of recordings against a model that knows every piece: what is on a page, in which order, and the count.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RecordingFilter } from "../../../src/session_recordings/listing/filter_store.ts";
import { countRecordings, listRecordings } from "../../../src/session_recordings/listing/store.ts";
import { toReads } from "../../../src/storage/clickhouse/query_options.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { inLongForm } from "../../support/kills.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

interface ModelPiece {
  session: string;
  distinct_id: string;
  /** Milliseconds since 1970. */
  at: number;
}

const hourMs = 3_600_000;
const day = Date.UTC(2026, 2, 1);
const pieces: ModelPiece[] = [];
let seed = 20_260_301;
let stores: Stores;

/** From 0 to below `bound`; the same in every run. */
function random(bound: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return Math.floor((seed / 0x8000_0000) * bound);
}

/** 400 recordings over ten days: some over midnight, some with a gap of days, some of two people. */
function makePieces(): void {
  for (let i = 0; i < 400; i++) {
    const start = day + random(10 * 24 * 3600) * 1000 + i;
    const ids = [`d${random(20)}`, `d${random(20)}`];
    const gapMs = random(10) === 0 ? random(80) * hourMs : random(2) * hourMs;
    for (let n = 0; n < 1 + random(4); n++) {
      const id = ids[random(8) === 0 ? 1 : 0]!;
      pieces.push({ session: `s${i}`, distinct_id: id, at: start + n * (1000 + gapMs) });
    }
  }
}

beforeAll(async () => {
  stores = await openMadeStores();
  makePieces();
  // Six times of storing, later pieces before earlier ones at times.
  const stored = Map.groupBy(pieces, () => random(6));
  for (const some of stored.values()) {
    await stores.clickhouse.command(
      `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at)
       SELECT 1, p.1, toUUID(p.4), p.2, fromUnixTimestamp64Milli(p.3, 'UTC') AS at, at, now64(6), now64(6) + 99999
       FROM (
         SELECT arrayJoin(arrayZip({sessions:Array(String)}, {ids:Array(String)}, {ats:Array(Int64)},
           {uuids:Array(String)})) AS p
       )`,
      {
        sessions: some.map(({ session }) => session),
        ids: some.map(({ distinct_id }) => distinct_id),
        ats: some.map(({ at }) => at),
        uuids: some.map(() => crypto.randomUUID()),
      },
    );
  }
}, storesStartMsMax);

afterAll(cleanUp);

const momentOf = (ms: number) => `${new Date(ms).toISOString().replace("T", " ").replace("Z", "000")}`;

function expected({ from, to, distinct_ids, session_ids, without }: RecordingFilter): string[] {
  const found: { session: string; start: string }[] = [];
  for (const [session, own] of Map.groupBy(pieces, (piece) => piece.session)) {
    const start = momentOf(Math.min(...own.map(({ at }) => at)));
    const matches =
      (from === undefined || start >= from) &&
      (to === undefined || start < to) &&
      (!distinct_ids || own.some(({ distinct_id }) => distinct_ids.includes(distinct_id))) &&
      (!session_ids || session_ids.includes(session)) &&
      !without.includes(session);
    if (matches) found.push({ session, start });
  }
  return found.sort((a, b) => (a.start > b.start ? -1 : 1)).map(({ session }) => session);
}

function randomFilter(): RecordingFilter {
  const at = () => momentOf(day + random(11 * 24) * hourMs + random(3) * 1_234_567);
  const some = (name: string, of: number) =>
    Array.from({ length: 1 + random(5) }, () => `${name}${random(of)}`);
  return {
    from: random(3) === 0 ? at() : undefined,
    to: random(3) === 0 ? at() : undefined,
    distinct_ids: random(3) === 0 ? some("d", 22) : undefined,
    session_ids: random(6) === 0 ? some("s", 420) : undefined,
    without: random(3) === 0 ? some("s", 400) : [],
  };
}

/**
 * The filters of the short form, by index: the fewest in a row that have each of the five conditions at least once and
 * the most in one filter. All thirty take two minutes on a busy machine.
 */
const fewFilters = [19, 24] as const;

test("any page of any filter is the model's, and so is the count", async () => {
  const { clickhouse } = stores;
  const many = Array.from({ length: 30 }, randomFilter);
  const filters = [{ without: [] }, ...inLongForm(many, many.slice(...fewFilters))];
  const asked: [number, RecordingFilter][] = filters.map((filter) => [1, filter]);
  for (const [project_id, filter] of [...asked, [2, { without: [] }] as const]) {
    const reads = toReads(clickhouse, project_id);
    const all = project_id === 1 ? expected(filter) : [];
    expect(await countRecordings(reads, filter)).toBe(all.length);
    const limit = 1 + random(60);
    for (const offset of [0, random(30), random(all.length + 1)]) {
      const told: string[] = [];
      const rows = await listRecordings(reads, filter, { limit, offset }, (ids) => told.push(...ids));
      const shown = rows.map(({ session_id }) => session_id);
      expect([filter, offset, shown]).toEqual([filter, offset, all.slice(offset, offset + limit)]);
    }
  }
});
