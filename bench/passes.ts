// What does each pass over a body cost, from the socket to a part? Each step alone, on the events of a site; the engine's
// by what its statement leaves out.

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { Block } from "../src/capture/columns/block.ts";
import { BodyScanner } from "../src/capture/scan/body_scanner.ts";
import { ScanArena } from "../src/capture/wasm/scan_arena.ts";
import { SessionFold } from "../src/capture/wasm/session_fold.ts";
import { toBytes } from "../src/core/bytes.ts";
import { quoteText } from "../src/storage/clickhouse/statement.ts";
import { ByteColumn } from "../src/storage/native/native.ts";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { costOf } from "./cost.ts";
import { bodyAround, eventBytesOf, eventTexts } from "./events.ts";
import { load } from "./load.ts";
import { writePack } from "./material.ts";
import { cpuPerGb } from "./rows.ts";
import { emptyTables, makeFolder, projectKey, removeFolder, startBare, startEngine } from "./stand.ts";

const site = "short";
/** About a group of the journal. */
const groupBytes = 4_000_000;

export async function passesBench(scale: Scale): Promise<Answer> {
  const folder = makeFolder();
  const count = Math.max(10, Math.floor(Math.min(groupBytes, scale.bytes) / eventBytesOf({ site })));
  const body = bodyAround(eventTexts({ count, site }), projectKey);
  const copies = Math.max(1, Math.floor(scale.bytes / body.length));
  const { pack } = writePack(folder, [body]);
  const bare = await startBare("bytes");
  const engine = await startEngine();
  const { clickhouse } = engine.stores;
  await clickhouse.command("CREATE TABLE nowhere AS event_rows ENGINE = Null");
  await clickhouse.command("CREATE TABLE alone AS event_rows");
  try {
    const own = (run: () => void) => () =>
      Promise.resolve(cpuPerGb(body.length * copies, () => repeat(copies, run)));
    const arena = new ScanArena(body.length);
    arena.body.set(body);
    const bytes = arena.close(body.length);
    const block = new Block();
    const out = new ByteColumn(1 << 20);
    const scan = (): void => {
      const scanner = new BodyScanner(bytes, { fast: arena });
      while (!scanner.advance(1 << 20));
      if (scanner.index.count !== count) throw new Error("not every event was found");
    };
    const columns = (): void => {
      block.clear();
      for (let first = 0; first < count;) {
        const through = arena.classify(first, count, sending, sending.received);
        for (let year = 0; year < arena.yearCount; year++) {
          block.appendColumns(arena.writeColumns(first, year, sending, sending.received, 0));
        }
        first += through;
      }
      if (block.rows !== count) throw new Error(`${count - block.rows} events go the slow way`);
    };
    const seal = (): void => {
      out.length = 0;
      block.encode(out, 1n, 0);
    };
    scan();
    columns();
    seal();
    const native = out.filled().slice();
    const path = join(engine.dataDir, "group.native");
    await Bun.write(path, native);
    const fold = new SessionFold();
    const file = openSync(join(folder, "journal"), "w");
    const write = (): void => {
      writeSync(file, native, 0, native.length, 0);
      fdatasyncSync(file);
    };
    const roots = { roots: [engine.pid] };
    const asked = (work: () => Promise<unknown>) => async () => {
      await emptyTables(engine.stores);
      const run = async () => {
        const started_ms = performance.timeOrigin + performance.now();
        for (let i = 0; i < copies; i++) await work();
        return { started_ms, seconds: 1, cpu_s: 0 };
      };
      return (await costOf(roots, body.length * copies, run)).cpu_s_per_gb;
    };
    const read = `file(${quoteText(path)}, 'Native', ${quoteText(structure)})`;
    const into = (table: string) => asked(() => clickhouse.insertNative(table, { path }));
    const runs = await interleaved(scale, {
      "received (a bare server)": async () => {
        const run = () =>
          load({ url: bare.url, path: "/batch/", bodies: pack, requests: copies, connections: 2 });
        return (await costOf({ roots: [bare.pid] }, body.length * copies, run)).cpu_s_per_gb;
      },
      scanned: own(scan),
      "columns, appended to a block": own(columns),
      "sealed as Native": own(seal),
      checksum: own(() => void crc32(native)),
      "written and synced": own(write),
      "engine: the file is read": asked(() => clickhouse.query(`SELECT sum(ignore(*)) AS none FROM ${read}`)),
      "engine: and squashed (table that keeps nothing)": into("nowhere"),
      "engine: and sorted, compressed, written": into("alone"),
      "engine: and views": into("event_rows"),
      "sessions folded": own(() => {
        fold.input.set(native);
        fold.add(0, native.length);
        fold.drainFolded();
      }),
    });
    closeSync(file);
    const figures = Object.entries(runs).map(([name, all]) => ({ name, "CPU-s/GB": median(all) }));
    return { question: `passes over a body, events of ${eventBytesOf({ site })} bytes`, figures, ratios: [] };
  } finally {
    await engine.stop();
    await bare.stop();
    removeFolder(folder);
  }
}

const structure =
  "uuid UUID, project_id UInt32, event LowCardinality(String), distinct_id String, properties String, " +
  "timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC'), historical_migration Bool";

const sending = {
  received: Date.UTC(2026, 0) * 1000,
  skew: 0,
  project_id: 1,
  historical_migration: true,
  groupTypes: { assigned: () => [toBytes("company")] },
};

function repeat(times: number, run: () => void): void {
  for (let i = 0; i < times; i++) run();
}
