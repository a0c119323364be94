// The judge: compares what senders know with what ClickHouse, persons and an export say. Knows nothing of the server.

import { gunzipSync } from "node:zlib";
import { openAddresses } from "../../../src/access/address.ts";
import { openSecrets } from "../../../src/access/secret.ts";
import { ExportWorker } from "../../../src/batch_exports/runs/worker.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { endedRuns, makeBackfill, makeExport } from "../../support/exports.ts";
import { s3Key, s3Secret } from "../../support/s3.ts";
import { noSqlParser } from "../../support/sql_parser.ts";
import { payloadHashSql, type ProofLedger, recordBytes } from "./ledger.ts";
import type { Place } from "./place.ts";

export interface Verdict {
  sent: number;
  acknowledged: number;
  stored: number;
  /** Acknowledged and not stored. */
  lost: number;
  /** Stored more than once; rows that only a reader collapses count as well. */
  doubled: number;
  /** Stored and never sent. */
  invented: number;
  /** Stored with another payload than was sent. */
  altered: number;
  persons: string;
  sessions: string;
  exports: string;
  isSound: boolean;
}

/** Uuids of the ledger, each with how often it was seen. */
class Known {
  readonly #records: Buffer;
  readonly #slots: Int32Array;
  readonly seen: Uint8Array;
  readonly #mask: number;

  constructor(records: Buffer) {
    this.#records = records;
    const count = records.length / recordBytes;
    const size = 2 ** Math.ceil(Math.log2(Math.max(16, count * 2)));
    this.#mask = size - 1;
    this.#slots = new Int32Array(size).fill(-1);
    this.seen = new Uint8Array(count);
    for (let place = 0; place < count; place++) {
      let slot = records.readUInt32LE(place * recordBytes) & this.#mask;
      while (this.#slots[slot] !== -1) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = place;
    }
  }

  /** The place of the uuid at `at` of `bytes`; undefined when it is not known. */
  find(bytes: Buffer, at: number): number | undefined {
    for (let slot = bytes.readUInt32LE(at) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = this.#slots[slot]!;
      if (place === -1) return undefined;
      const from = place * recordBytes;
      if (this.#records.compare(bytes, at, at + 16, from, from + 16) === 0) return place;
    }
  }

  /** Whether the whole record at `at` of `bytes` is the one at `place`. */
  equals(place: number, bytes: Buffer, at: number): boolean {
    const from = place * recordBytes;
    return this.#records.compare(bytes, at, at + recordBytes, from, from + recordBytes) === 0;
  }
}

/** Rows of one answer: 24 MB, of the 32 MiB that the client takes. */
const rowsAtOnce = 1_000_000;

/** How long one question of the judge may take, in ms: tens of millions of events are collapsed for it. */
const judgeMsMax = 600_000;

/** No server may run: what it still holds would count as lost. */
export async function judge(place: Place, ledger: ProofLedger): Promise<Verdict> {
  const { sent, acknowledged } = ledger.read();
  const known = new Known(sent);
  const rows = await compareRows(place.clickhouse, known);
  let lost = 0;
  for (let at = 0; at < acknowledged.length; at += recordBytes) {
    const found = known.find(acknowledged, at);
    if (found === undefined) throw new Error("acknowledged, but not among what was sent");
    if (known.seen[found] === 0) lost++;
  }
  const persons = await comparePersons(place.clickhouse);
  const sessions = await compareSessions(place.clickhouse, partsOf(rows.stored));
  const exports = await compareExport(place, known, rows.stored);
  const isSound = [lost, rows.doubled, rows.invented, rows.altered].every((count) => count === 0);
  return {
    sent: sent.length / recordBytes,
    acknowledged: ledger.acknowledged,
    stored: rows.stored,
    lost,
    doubled: rows.doubled,
    invented: rows.invented,
    altered: rows.altered,
    persons: persons.text,
    sessions: sessions.text,
    exports: exports.text,
    isSound: isSound && persons.isSound && sessions.isSound && exports.isSound,
  };
}

async function compareRows(
  clickhouse: ClickHouse,
  known: Known,
): Promise<Record<"stored" | "doubled" | "invented" | "altered", number>> {
  const rows = { stored: 0, doubled: 0, invented: 0, altered: 0 };
  const [{ count = "0" } = {}] = await clickhouse.query<{ count: string }>(
    "SELECT toString(count()) AS count FROM events",
    {},
    { timeoutMs: judgeMsMax },
  );
  const parts = partsOf(Number(count));
  let twice = 0;
  for (let part = 0; part < parts; part++) {
    const bytes = await clickhouse.bytes(
      `SELECT UUIDStringToNum(toString(uuid)), ${payloadHashSql} FROM events
       WHERE sipHash64(uuid) % {parts:UInt32} = {part:UInt32} FORMAT RowBinary`,
      { parts, part },
      { timeoutMs: judgeMsMax },
    );
    const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < records.length; at += recordBytes) {
      rows.stored++;
      const found = known.find(records, at);
      if (found === undefined) rows.invented++;
      else if (known.seen[found]!++ > 0) rows.doubled++;
      else if (!known.equals(found, records, at)) rows.altered++;
    }
    const [raw] = await clickhouse.query<{ twice: string }>(
      `SELECT toString(count() - uniqExact(uuid)) AS twice FROM event_rows
       WHERE sipHash64(uuid) % {parts:UInt32} = {part:UInt32}`,
      { parts, part },
      { timeoutMs: judgeMsMax },
    );
    twice += Number(raw!.twice);
  }
  return { ...rows, doubled: Math.max(rows.doubled, twice) };
}

function partsOf(rows: number): number {
  return Math.max(1, Math.ceil(rows / rowsAtOnce));
}

/** Each distinct id is one person, and its property is that of its last event. */
async function comparePersons(clickhouse: ClickHouse): Promise<{ text: string; isSound: boolean }> {
  const [row] = await clickhouse.query<{ persons: string; ids: string; wrong: string }>(
    `SELECT toString(countIf(p.here = 1)) AS persons, toString(countIf(e.here = 1)) AS ids,
       toString(countIf(p.here != e.here OR p.last != e.last OR p.ids != 1)) AS wrong
     FROM (
       SELECT distinct_ids[1] AS id, toUInt64(length(distinct_ids)) AS ids, 1 AS here,
         JSONExtractUInt(properties, 'last') AS last
       FROM persons
     ) AS p
     FULL JOIN (
       SELECT distinct_id AS id, 1 AS here, argMax(JSONExtractUInt(properties, '$set', 'last'), timestamp) AS last
       FROM events GROUP BY distinct_id
     ) AS e ON p.id = e.id`,
    {},
    { timeoutMs: judgeMsMax },
  );
  const wrong = Number(row!.wrong);
  return { text: `${row!.persons} of ${row!.ids}, ${wrong} wrong`, isSound: wrong === 0 };
}

/**
 * Each session has its events, and begins and ends with them. A session knows 30 bits of each uuid: of two events that
 * share them it counts one.
 */
async function compareSessions(
  clickhouse: ClickHouse,
  parts: number,
): Promise<{ text: string; isSound: boolean }> {
  const sums = { sessions: 0, sent: 0, wrong: 0 };
  for (let part = 0; part < parts; part++) {
    const [row] = await clickhouse.query<Record<keyof typeof sums, string>>(
      sessionsSql,
      { parts, part },
      { timeoutMs: judgeMsMax },
    );
    for (const name of ["sessions", "sent", "wrong"] as const) sums[name] += Number(row![name]);
  }
  return { text: `${sums.sessions} of ${sums.sent}, ${sums.wrong} wrong`, isSound: sums.wrong === 0 };
}

const sessionsSql = `WITH
       reinterpretAsUInt128(uuid) AS number,
       bitXor(bitXor(toUInt64(number), toUInt64(bitShiftRight(number, 64))), 0x4CF2D2BAAE6DA887) AS folded,
       bitShiftRight(toUInt32(intHash64(bitXor(intHash64(folded), 0x4CF2D2BAAE6DA887))), 2) AS bits
     SELECT toString(countIf(s.here = 1)) AS sessions, toString(countIf(e.here = 1)) AS sent,
       toString(countIf((s.here, s.count, s.start, s.end) != (e.here, e.count, e.start, e.end))) AS wrong
     FROM (
       SELECT session_id AS id, 1 AS here, event_count AS count, start_time AS start, end_time AS end FROM sessions
       WHERE sipHash64(session_id) % {parts:UInt32} = {part:UInt32}
     ) AS s
     FULL JOIN (
       SELECT JSONExtractString(properties, '$session_id') AS id, 1 AS here, uniqExact(bits) AS count,
         min(timestamp) AS start, max(timestamp) AS end
       FROM events WHERE sipHash64(id) % {parts:UInt32} = {part:UInt32} GROUP BY id
     ) AS e ON s.id = e.id`;

const hourMs = 3_600_000;

/** All that arrived, as files in a bucket, written by the server's own worker at a moment behind all of it. */
async function compareExport(
  place: Place,
  known: Known,
  stored: number,
): Promise<{ text: string; isSound: boolean }> {
  const { sql, clickhouse, s3 } = place;
  const prefix = crypto.randomUUID();
  const end = Math.ceil((Date.now() + 1) / hourMs) * hourMs;
  const start = Math.floor(place.startedMs / hourMs) * hourMs;
  const config = {
    bucket_name: "proof",
    region: "us-east-1",
    prefix,
    endpoint_url: s3.url,
    file_format: "JSONLines",
    // Ten million events are too many bytes for a disk in memory.
    compression: "gzip",
    max_file_size_mb: 200,
  };
  const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };
  const stores = { sql } as never;
  const sealing = { dataDir: "", secretKey: place.environment["SECRET_KEY"]! };
  const id = await makeExport(stores, sealing, {
    type: "S3",
    config,
    secrets,
    interval: "hour",
    paused: true,
  });
  await makeBackfill(stores, id, "hour", { start: new Date(start), end: new Date(end) });
  const worker = new ExportWorker({
    sql,
    clickhouse,
    secrets: openSecrets(sealing),
    addresses: openAddresses({ allowPrivate: true }),
    exportFileDir: undefined,
    parse: noSqlParser.parse,
    counts: { ended: () => {}, rows: () => {}, seconds: () => {} },
    clock: { now: () => end + hourMs, elapsed: () => performance.now() },
    log: silentLog,
  });
  worker.start();
  const runs = await endedRuns(stores, id, (end - start) / hourMs);
  await worker.close();
  const failed = runs.filter(({ status }) => status !== "Completed");
  const found = { rows: 0, twice: 0, foreign: 0 };
  const exported = new Uint8Array(known.seen.length);
  for (const key of s3.keys("proof").filter((one) => one.startsWith(prefix) && one.endsWith(".gz"))) {
    countLines(gunzipSync(s3.read("proof", key)), known, exported, found);
  }
  const isSound =
    failed.length === 0 && found.rows === stored && found.twice === 0 && found.foreign === 0 && stored > 0;
  const why = failed.length > 0 ? `, ${failed[0]!.status}: ${failed[0]!.latest_error}` : "";
  return { text: `${found.rows}, ${found.twice} twice, ${found.foreign} unknown${why}`, isSound };
}

const marker = Buffer.from('"uuid":"');

/** Lines are not parsed: a uuid's text has one form and one place. */
function countLines(
  file: Uint8Array,
  known: Known,
  exported: Uint8Array,
  found: { rows: number; twice: number; foreign: number },
): void {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + 1)) {
    const hex = bytes.toString("latin1", at + marker.length, at + marker.length + 36).replaceAll("-", "");
    const uuid = Buffer.from(hex, "hex");
    const event = known.find(uuid, 0);
    found.rows++;
    if (event === undefined) found.foreign++;
    else if (exported[event]!++ > 0) found.twice++;
  }
}
