import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { CaptureJournal, captureSetup } from "../../../src/capture/capture_journal.ts";
import { liveLane } from "../../../src/capture/columns/block.ts";
import { emptyRow, newUuidBytes } from "../../../src/capture/fields/row.ts";
import { Flush } from "../../../src/capture/flush/flush.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { toYear } from "../../../src/capture/journal/lane_kind.ts";
import { Quarantine } from "../../../src/capture/journal/quarantine.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import {
  type ClickHouse,
  ClickHouseError,
  type NativeBody,
} from "../../../src/storage/clickhouse/clickhouse.ts";
import { openLongReads } from "../../../src/storage/clickhouse/long_reads.ts";
import { ownTables } from "../../../src/storage/clickhouse/statement.ts";
import { openEngineZones } from "../../../src/storage/clickhouse/zones.ts";
import { cutBlock } from "../../../src/storage/native/native_cut.ts";
import { RunningStatements } from "../../../src/storage/running_statements.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { noDefinitions } from "../../support/definitions.ts";
import { makeFolder } from "../../support/folder.ts";
import { lengthOfBlock, rowsOfBlock } from "../../support/native.ts";
import { until } from "../../support/server.ts";

afterAll(cleanUp);

type Fate = "well" | "lost answer" | "failed before" | "died between";

/** An engine in memory that loses answers and fails by plan, and refuses batches with a poisoned row for good. */
class FaultyEngine implements ClickHouse {
  readonly cluster = undefined;
  readonly longReads = openLongReads();
  readonly zones = openEngineZones(1);
  readonly hide = () => {};
  readonly running = new RunningStatements();
  readonly canHide = async () => true;
  readonly omitHidden = <Options>(_: unknown, options: Options) => options;
  readonly tables = ownTables;
  readonly database = "sluice";
  readonly embedded: boolean;
  /** uuid → how often it was inserted. */
  readonly stored = new Map<string, number>();
  /** What each INSERT that stored something was sent: a file's name, or bytes. */
  readonly inserts: string[] = [];
  /** INSERTs wait here for the test, if it wants them to. */
  gate: ((uuids: string[]) => Promise<void>) | undefined;
  readonly #batches = new Set<string>();
  readonly #fates: Fate[];

  constructor(fates: Fate[], embedded: boolean) {
    this.#fates = [...fates];
    this.embedded = embedded;
  }

  async insertNative(_table: string, body: NativeBody): Promise<void> {
    const bytes = "path" in body ? new Uint8Array(readFileSync(body.path)) : Buffer.concat(body.bytes);
    const fate = this.#fates.shift() ?? "well";
    if (fate === "failed before")
      return Promise.reject(new ClickHouseError("down", "ECONNREFUSED", "NETWORK"));
    const rows = rowsIn(bytes);
    await this.gate?.(rows.map(({ uuid }) => uuid));
    if (rows.some((row) => row.poisoned)) {
      return Promise.reject(new ClickHouseError("poison", "469", "VIOLATED_CONSTRAINT"));
    }
    // What is of one year is a part and stored whole; an engine that dies between leaves some of them.
    const years = [...new Set(rows.map(({ year }) => year))];
    const kept = new Set(fate === "died between" ? years.filter((_, i) => i % 2 === 1) : years);
    for (const { uuid, batch } of rows.filter((row) => kept.has(row.year))) {
      this.stored.set(uuid, (this.stored.get(uuid) ?? 0) + 1);
      this.#batches.add(batch);
    }
    this.inserts.push("path" in body ? body.path : "bytes");
    if (fate !== "well") return Promise.reject(new ClickHouseError("reset", "ECONNRESET", "NETWORK"));
    return Promise.resolve();
  }

  query<Row>(_text: string, params: Record<string, unknown> = {}): Promise<Row[]> {
    const asked = (params["batches"] as bigint[]).map(String);
    const known = asked.filter((batch) => this.#batches.has(batch));
    return Promise.resolve(known.map((batch) => ({ batch })) as Row[]);
  }

  ping = () => Promise.resolve();
  command = (_text: string, _params?: Record<string, unknown>): Promise<void> => Promise.resolve();
  /** Derives sessions. */
  insertDerived = (): Promise<void> => Promise.resolve();
  bytes = () => Promise.resolve(new Uint8Array(0));
  stream = (): never => {
    throw new Error("nothing is streamed here");
  };
  createDatabase = () => Promise.resolve();
  close = () => Promise.resolve();
}

interface Stored {
  uuid: string;
  batch: string;
  year: number;
  poisoned: boolean;
}

/** Row by row: cut out alone, a row's first column is its uuid, and its batch stands behind the column's name. */
function rowsIn(bytes: Uint8Array): Stored[] {
  const rows: Stored[] = [];
  for (let at = 0; at < bytes.length;) {
    const block = bytes.subarray(at, at + lengthOfBlock(bytes.subarray(at)));
    for (let row = 0; row < rowsOfBlock(block); row++) {
      const one = Buffer.from(cutBlock(block, row, row + 1, {}));
      const text = one.toString("latin1");
      const batchAt = text.indexOf("\x06_batch\x06UInt64") + 14;
      const timestampAt = text.indexOf("\x09timestamp\x14DateTime64(6, 'UTC')") + 31;
      const uuidAt = text.indexOf("\x04uuid\x04UUID") + 10;
      rows.push({
        uuid: one.subarray(uuidAt, uuidAt + 16).toString("hex"),
        batch: one.readBigUInt64LE(batchAt).toString(),
        year: toYear(Number(one.readBigInt64LE(timestampAt))),
        poisoned: text.includes("poison"),
      });
    }
    at += block.length;
  }
  return rows;
}

function openJournal(folder: string): CaptureJournal {
  const options = {
    number: 1,
    flushIntervalMs: 3_600_000,
    bytesMax: 1 << 30,
    clock: systemClock,
    log: silentLog,
  };
  const journal = new CaptureJournal({ folder, ...options });
  journal.open();
  return journal;
}

interface Sent {
  historical: boolean;
  year: number;
  poisoned: boolean;
}

function send(journal: CaptureJournal, { historical, year, poisoned }: Sent): string {
  const row = emptyRow();
  newUuidBytes(1_700_000_000_000, row.uuid, 0);
  for (const range of [row.event, row.distinct_id])
    Object.assign(range, { source: toBytes("e"), from: 0, to: 1 });
  const properties = toBytes(poisoned ? `{"poison":1}` : "{}");
  Object.assign(row.properties, { source: properties, from: 0, to: properties.length });
  row.timestamp = Date.UTC(1950 + year, 3) * 1000;
  row.created_at = journal.stamp();
  (historical ? journal.historical : journal.live).append(row);
  return Buffer.from(row.uuid).toString("hex");
}

function openFlush(dataDir: string, journal: CaptureJournal, clickhouse: ClickHouse) {
  const counted = { stored: 0, quarantined: 0 };
  const flush = new Flush({
    journal,
    definitions: noDefinitions,
    clickhouse,
    quarantine: new Quarantine(captureSetup, dataDir),
    folder: `${dataDir}/flush`,
    counts: {
      stored: (_lane, rows) => void (counted.stored += rows),
      quarantined: (_lane, rows) => void (counted.quarantined += rows),
      seconds: () => {},
    },
    clock: systemClock,
    log: silentLog,
  });
  return { flush, counted };
}

const sentEvent = fc.record({
  historical: fc.boolean(),
  year: fc.nat({ max: 2 }),
  poisoned: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const fate = fc.constantFrom<Fate>("well", "well", "lost answer", "failed before", "died between");

test("every event is stored once or in quarantine, whatever answers are lost, across a restart", async () => {
  const folder = makeFolder();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(sentEvent, { minLength: 1, maxLength: 12 }),
      fc.array(fate, { maxLength: 3 }),
      fc.boolean(),
      async (events, fates, embedded) => {
        const dataDir = `${folder}/${run++}`;
        const journal = openJournal(`${dataDir}/journal`);
        const uuids = events.map((event) => ({ ...event, uuid: send(journal, event) }));
        await journal.close();
        await journal.release();
        // As after a crash: a new journal finds the segments, and all of them are in doubt.
        const after = openJournal(`${dataDir}/journal`);
        const engine = new FaultyEngine(fates, embedded);
        const { flush, counted } = openFlush(dataDir, after, engine);
        flush.start();
        await flush.drain(60_000);
        await after.close();
        await after.release();
        const good = uuids.filter((event) => !event.poisoned).map((event) => event.uuid);
        expect([...engine.stored.keys()].toSorted()).toEqual(good.toSorted());
        expect([...engine.stored.values()].every((times) => times === 1)).toBe(true);
        expect(new Quarantine(captureSetup, dataDir).count).toBe(events.length - good.length);
        expect(counted).toEqual({ stored: good.length, quarantined: events.length - good.length });
        expect(after.pending()).toEqual({ events: 0, bytes: 0 });
      },
    ),
    { numRuns: 40 },
  );
});

test("quarantined events can be listed, handed back and discarded", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const refusing = new FaultyEngine([], true);
  const { flush } = openFlush(dataDir, journal, refusing);
  send(journal, { historical: false, year: 0, poisoned: true });
  send(journal, { historical: false, year: 0, poisoned: true });
  await journal.live.seal();
  flush.start();
  await flush.drain(60_000);
  const quarantine = new Quarantine(captureSetup, dataDir);
  const listed = quarantine.list();
  expect(listed.map(({ lane, partition, reason }) => ({ lane, partition, reason }))).toEqual([
    { lane: "live", partition: 1950, reason: "poison" },
    { lane: "live", partition: 1950, reason: "poison" },
  ]);
  const kept = readFileSync(`${dataDir}/quarantine/${listed[0]!.id}.segment`);
  expect(kept.toString("latin1")).toContain(`{"poison":1}`);
  expect(quarantine.discard(listed[0]!.id)).toBe(1);
  expect(quarantine.discard("no such id")).toBe(0);
  expect(quarantine.retry("all")).toBe(1);
  journal.adoptReturned();
  expect(journal.pending().events).toBe(1);
  expect(quarantine.count).toBe(0);
  await journal.close();
  await journal.release();
});

test("a folder that cannot be read for a while delays the flush, and does not end it", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const engine = new FaultyEngine([], true);
  const { flush } = openFlush(dataDir, journal, engine);
  const tried = Promise.withResolvers<void>();
  let failures = 0;
  journal.adoptReturned = () => {
    if (++failures === 10) tried.resolve();
    if (failures <= 10) throw new Error("EMFILE: too many open files");
  };
  flush.start();
  await tried.promise;
  const sent = send(journal, { historical: false, year: 0, poisoned: false });
  await journal.live.seal();
  await flush.drain(60_000);
  expect([...engine.stored]).toEqual([[sent, 1]]);
  await journal.close();
  await journal.release();
});

test("years of a segment share an INSERT, as many as the engine takes in one", async () => {
  for (const embedded of [true, false]) {
    const dataDir = makeFolder();
    const journal = openJournal(`${dataDir}/journal`);
    const engine = new FaultyEngine([], embedded);
    const { flush, counted } = openFlush(dataDir, journal, engine);
    const few = Array.from({ length: 40 }, (_, i) =>
      send(journal, { historical: true, year: i, poisoned: false }),
    );
    await journal.historical.seal();
    const many = Array.from({ length: 250 }, (_, i) =>
      send(journal, { historical: true, year: i, poisoned: false }),
    );
    await journal.historical.seal();
    flush.start();
    await flush.drain(60_000);
    expect([...engine.stored.keys()].toSorted()).toEqual([...few, ...many].toSorted());
    expect([...engine.stored.values()].every((times) => times === 1)).toBe(true);
    expect(counted.stored).toBe(290);
    expect(engine.inserts.length).toBe(1 + Math.ceil(250 / captureLimits.insertPartitionsMax));
    await journal.close();
    await journal.release();
  }
});

test("sessions are derived from what is stored of a batch that was taken apart, not from what is in quarantine", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const engine = new FaultyEngine([], true);
  const { flush } = openFlush(dataDir, journal, engine);
  let fed = 0;
  engine.insertDerived = async () => void fed++;
  const readBack: bigint[] = [];
  engine.command = async (_text, params) => void readBack.push(...((params?.["batches"] ?? []) as bigint[]));
  const event = { historical: false, year: 0, poisoned: false };
  send(journal, { ...event, poisoned: true });
  send(journal, event);
  send(journal, event);
  await journal.live.seal();
  const [whole] = journal.nextSealed(liveLane)!.batches;
  flush.start();
  await flush.drain(60_000);
  expect(fed).toBe(0);
  expect(readBack.length).toBeGreaterThan(0);
  expect(readBack).not.toContain(whole!.id);
  await journal.close();
  await journal.release();
});

test("of years with a row that is refused all others are stored, and no row twice", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const engine = new FaultyEngine(["well", "died between"], true);
  const { flush, counted } = openFlush(dataDir, journal, engine);
  const sent = Array.from({ length: 64 }, (_, i) =>
    send(journal, { historical: true, year: i % 16, poisoned: i === 21 }),
  );
  await journal.historical.seal();
  flush.start();
  await flush.drain(60_000);
  expect([...engine.stored.keys()].toSorted()).toEqual(sent.filter((_, i) => i !== 21).toSorted());
  expect([...engine.stored.values()].every((times) => times === 1)).toBe(true);
  expect(counted).toEqual({ stored: 63, quarantined: 1 });
  await journal.close();
  await journal.release();
});

test("two segments of an import are under way at once, none twice, and the watermark waits for the older", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const engine = new FaultyEngine([], true);
  const { flush } = openFlush(dataDir, journal, engine);
  const waiting = new Map<string, () => void>();
  let most = 0;
  engine.gate = async ([uuid]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(uuid!, resolve);
    most = Math.max(most, waiting.size);
    await promise;
    waiting.delete(uuid!);
  };
  const sent: string[] = [];
  for (let i = 0; i < 5; i++) {
    sent.push(send(journal, { historical: true, year: 0, poisoned: false }));
    await journal.historical.seal();
    // Each is of a later moment.
    const stamped = journal.stamp();
    await until(() => Promise.resolve(journal.stamp() > stamped));
  }
  const begun = journal.watermarks().derived;
  flush.start();
  for (const later of sent.slice(1)) {
    await until(() => Promise.resolve(waiting.has(later)));
    waiting.get(later)!();
    await until(() => Promise.resolve(!waiting.has(later)));
    expect(journal.watermarks().derived).toBe(begun);
  }
  await until(() => Promise.resolve(journal.pending().events === 1));
  expect(journal.watermarks().derived).toBe(begun);
  waiting.get(sent[0]!)!();
  await flush.drain(60_000);
  expect(journal.watermarks().derived).toBeGreaterThan(begun);
  expect(most).toBe(2);
  expect(sent.map((uuid) => engine.stored.get(uuid))).toEqual([1, 1, 1, 1, 1]);
  await journal.close();
  await journal.release();
});

test("an import waits to be stored while too much waits for its sessions, and live events do not", async () => {
  const dataDir = makeFolder();
  const journal = openJournal(`${dataDir}/journal`);
  const engine = new FaultyEngine([], true);
  const derived = Promise.withResolvers<void>();
  engine.insertDerived = () => derived.promise;
  const { flush } = openFlush(dataDir, journal, engine);
  const { sessionsBehindBytesMax, sessionsWaitingBytesMax } = flushLimits;
  flushLimits.sessionsBehindBytesMax = { ...sessionsBehindBytesMax, historical: 1 };
  flushLimits.sessionsWaitingBytesMax = 1;
  const event = { historical: true, year: 0, poisoned: false };
  const first = send(journal, event);
  await journal.historical.seal();
  flush.start();
  await until(() => Promise.resolve(engine.stored.has(first) && journal.underivedEvents === 1));
  const second = send(journal, event);
  await journal.historical.seal();
  const live = send(journal, { ...event, historical: false });
  await journal.live.seal();
  await until(() => Promise.resolve(journal.underivedEvents === 2));
  expect([live, second].map((uuid) => engine.stored.has(uuid))).toEqual([true, false]);
  derived.resolve();
  await until(() => Promise.resolve(engine.stored.has(second)));
  Object.assign(flushLimits, { sessionsBehindBytesMax, sessionsWaitingBytesMax });
  await flush.drain(60_000);
  expect(journal.isEmpty).toBe(true);
  await journal.close();
  await journal.release();
});
