// How long do the journal's group commits take, for writers of one event and in bulk? Beside it, fdatasync on the disk
// alone.

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { CaptureJournal } from "../src/capture/capture_journal.ts";
import { emptyRow, type Row } from "../src/capture/fields/row.ts";
import type { Lane } from "../src/capture/journal/lane.ts";
import { systemClock } from "../src/core/clock.ts";
import { silentLog } from "../src/core/log.ts";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { batchBody } from "./events.ts";
import { eachRow, scanned } from "./rows.ts";
import { makeFolder, removeFolder } from "./stand.ts";

interface Run {
  per_s: number;
  mb_per_s: number;
  cpu_s_per_gb: number;
}

export async function journalBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const events = Math.max(10, Math.min(32_000, Math.floor(bytes / 560)));
  const body = batchBody(events, 1);
  const copies = Math.max(1, Math.floor(bytes / body.length));
  const kept: Row[] = [];
  eachRow(scanned(body), (row) => void kept.push(copyOf(row)));
  const each = body.length / events;
  const commits = Math.max(10, Math.min(20_000, Math.floor(bytes / 5000)));
  const contestants = {
    "bulk: 4 MB groups": () =>
      withJournal(events * copies, each, async (lane) => {
        for (let i = 0; i < copies * events; i++) {
          lane.append(kept[i % events]!);
          if (lane.isCrowded) await lane.commit();
        }
        await lane.commit();
      }),
    "1 event each, 1 writer": () =>
      withJournal(commits / 10, each, (lane) => write(lane, kept, commits / 10, 1)),
    "1 event each, 64 writers": () => withJournal(commits, each, (lane) => write(lane, kept, commits, 64)),
    "fdatasync of 4 kB alone": () => syncs(commits / 10),
  };
  const runs = await interleaved(scale, contestants);
  const figures = Object.entries(runs).map(([name, all]) => ({
    name,
    "commits or events/s": median(all.map(({ per_s }) => per_s)),
    "MB/s": median(all.map(({ mb_per_s }) => mb_per_s)),
    "CPU-s/GB": median(all.map(({ cpu_s_per_gb }) => cpu_s_per_gb)),
  }));
  return { question: "rows → journal on disk, without HTTP and without ClickHouse", figures, ratios: [] };
}

async function withJournal(
  rows: number,
  each: number,
  run: (lane: Lane<Row>) => Promise<void>,
): Promise<Run> {
  const folder = makeFolder();
  const journal = new CaptureJournal({
    folder,
    number: 1,
    flushIntervalMs: 3_600_000,
    bytesMax: 2 ** 40,
    clock: systemClock,
    log: silentLog,
  });
  journal.open();
  try {
    const measured = await timed(rows, rows * each, () => run(journal.historical));
    await journal.close();
    if (journal.pending().events !== Math.ceil(rows)) throw new Error("not every row is in the journal");
    return measured;
  } finally {
    await journal.close();
    await journal.release();
    removeFolder(folder);
  }
}

async function write(lane: Lane<Row>, rows: Row[], count: number, writers: number): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < count) {
      lane.append(rows[next++ % rows.length]!);
      await lane.commit();
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

async function syncs(count: number): Promise<Run> {
  const folder = makeFolder();
  const file = openSync(join(folder, "synced"), "w");
  const page = new Uint8Array(4096);
  try {
    return await timed(count, count * page.length, async () => {
      for (let i = 0; i < count; i++) {
        writeSync(file, page);
        fdatasyncSync(file);
      }
    });
  } finally {
    closeSync(file);
    removeFolder(folder);
  }
}

async function timed(count: number, bytes: number, run: () => Promise<void>): Promise<Run> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  await run();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    per_s: count / seconds,
    mb_per_s: bytes / 1e6 / seconds,
    cpu_s_per_gb: (user + system) / 1e6 / (bytes / 1e9),
  };
}

function copyOf(row: Row): Row {
  const { event, distinct_id, properties, uuid } = row;
  return {
    ...emptyRow(),
    ...row,
    event: { ...event },
    distinct_id: { ...distinct_id },
    properties: { ...properties },
    uuid: uuid.slice(),
  };
}
