import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { CaptureJournal, captureSetup } from "../../../src/capture/capture_journal.ts";
import { rebatch } from "../../../src/capture/columns/block.ts";
import { Flush } from "../../../src/capture/flush/flush.ts";
import type { LaneKind } from "../../../src/capture/journal/lane_kind.ts";
import { Quarantine } from "../../../src/capture/journal/quarantine.ts";
import { warningLane, type WarningRow } from "../../../src/capture/warnings/warning.ts";
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
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { RunningStatements } from "../../../src/storage/running_statements.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { noDefinitions } from "../../support/definitions.ts";
import { makeFolder } from "../../support/folder.ts";
import { lengthOfBlock, rowsOfBlock } from "../../support/native.ts";

afterAll(cleanUp);

function warning(number: number, timestamp = Date.UTC(2024, 0, 5) * 1000): WarningRow {
  return {
    project_id: 1,
    type: "missing_distinct_id",
    details: `{"index":${number}}`,
    event: `e${number}`,
    distinct_id: "é",
    count: 2 ** 33 + number,
    timestamp: timestamp + number,
  };
}

test("a block of warnings is one Native block, and can be cut like one of events", () => {
  const block = warningLane.openBlock();
  let weight = 0;
  for (let i = 0; i < 5; i++) weight += block.append(warning(i));
  expect(weight).toBeGreaterThan(5 * 40);
  const out = new ByteColumn();
  block.encode(out, 9n, 3);
  const bytes = out.filled().slice();
  expect([lengthOfBlock(bytes), rowsOfBlock(bytes)]).toEqual([bytes.length, 5]);
  expect(rebatch(bytes, 0, 5, 9n, 3)).toEqual(bytes);
  const cut = rebatch(bytes, 1, 3, 9n, 0);
  expect(rowsOfBlock(cut)).toBe(2);
  expect(Buffer.from(cut).toString("latin1")).toContain(`{"index":2}`);
  block.clear();
  for (let i = 0; i < 5; i++) block.append(warning(i));
  out.length = 0;
  block.encode(out, 9n, 3);
  expect(out.filled()).toEqual(bytes);
});

/** An engine in memory that loses answers and fails by plan; remembers every row by table. */
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
  readonly embedded = true;
  readonly rows: Record<string, string[]> = {};
  readonly #batches = new Set<string>();
  readonly #fates: string[];

  constructor(fates: string[]) {
    this.#fates = [...fates];
  }

  insertNative(table: string, body: NativeBody): Promise<void> {
    const bytes = "path" in body ? readFileSync(body.path) : Buffer.concat(body.bytes);
    const fate = this.#fates.shift() ?? "well";
    const failure = new ClickHouseError("reset", "ECONNRESET", "NETWORK");
    if (fate === "failed before") return Promise.reject(failure);
    for (let at = 0; at < bytes.length;) {
      const block = bytes.subarray(at, at + lengthOfBlock(bytes.subarray(at)));
      const text = block.toString("latin1");
      (this.rows[table] ??= []).push(...[...text.matchAll(/\{"index":(\d+)\}/g)].map((match) => match[1]!));
      const batchAt = text.indexOf("\x06_batch\x06UInt64") + 14;
      this.#batches.add(`${table} ${block.readBigUInt64LE(batchAt)}`);
      at += block.length;
      // Each month was one block: it died between the first and the second.
      if (fate === "died between") break;
    }
    return fate === "well" ? Promise.resolve() : Promise.reject(failure);
  }

  insertDerived = (): Promise<void> => Promise.resolve();

  query<Row>(_text: string, params: Record<string, unknown> = {}): Promise<Row[]> {
    const asked = (params["batches"] as bigint[]).map(String);
    const known = asked.filter((batch) => this.#batches.has(`${String(params["table"])} ${batch}`));
    return Promise.resolve(known.map((batch) => ({ batch })) as Row[]);
  }

  ping = () => Promise.resolve();
  command = () => Promise.resolve();
  bytes = () => Promise.resolve(new Uint8Array(0));
  stream = (): never => {
    throw new Error("nothing is streamed here");
  };
  createDatabase = () => Promise.resolve();
  close = () => Promise.resolve();
}

function openJournal(folder: string): CaptureJournal {
  const options = { number: 1, flushIntervalMs: 3_600_000, bytesMax: 1 << 30 };
  const journal = new CaptureJournal({ folder, ...options, clock: systemClock, log: silentLog });
  journal.open();
  return journal;
}

test("warnings reach their own table exactly once, whatever answers are lost, and are no pending events", async () => {
  const folder = makeFolder();
  const fate = fc.constantFrom("well", "lost answer", "failed before", "died between");
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.array(fate, { maxLength: 3 }),
      async (count, fates) => {
        const dataDir = `${folder}/${run++}`;
        const journal = openJournal(`${dataDir}/journal`);
        const months = [Date.UTC(2024, 0, 31), Date.UTC(2024, 1, 1)];
        for (let i = 0; i < count; i++) journal.warnings.append(warning(i, months[i % 2]! * 1000));
        await journal.warnings.commit();
        expect(journal.pending().events).toBe(0);
        await journal.close();
        await journal.release();
        const after = openJournal(`${dataDir}/journal`);
        const engine = new FaultyEngine(fates);
        const stored: [string, number][] = [];
        const counts = {
          stored: (lane: LaneKind, rows: number) => void stored.push([lane.name, rows]),
          quarantined: () => {},
          seconds: () => {},
        };
        const quarantine = new Quarantine(captureSetup, dataDir);
        const flush = new Flush({
          journal: after,
          definitions: noDefinitions,
          clickhouse: engine,
          quarantine,
          folder: `${dataDir}/flush`,
          counts,
          clock: systemClock,
          log: silentLog,
        });
        flush.start();
        await flush.drain(60_000);
        await after.close();
        await after.release();
        expect(Object.keys(engine.rows)).toEqual(["ingestion_warnings"]);
        const expected = Array.from({ length: count }, (_, i) => String(i));
        expect(engine.rows["ingestion_warnings"]!.toSorted()).toEqual(expected.toSorted());
        expect(stored.every(([lane]) => lane === "warnings")).toBe(true);
        expect(stored.reduce((sum, [, rows]) => sum + rows, 0)).toBe(count);
        expect(after.pending()).toEqual({ events: 0, bytes: 0 });
      },
    ),
    { numRuns: 25 },
  );
});
