// A lane is a value: one that a test makes is written, recovered and stored as those of capture are.

import { afterAll, expect, test } from "bun:test";
import { captureLanes } from "../../../src/capture/capture_journal.ts";
import { Flush } from "../../../src/capture/flush/flush.ts";
import { systemIo } from "../../../src/capture/journal/journal_io.ts";
import { type LaneKind, plainLane, TableBlock, toMonth } from "../../../src/capture/journal/lane_kind.ts";
import { Quarantine } from "../../../src/capture/journal/quarantine.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { noDefinitions } from "../../support/definitions.ts";
import { makeFolder } from "../../support/folder.ts";
import { openJournal } from "../../support/journal.ts";
import { readBlocks } from "../../support/native_rows.ts";

afterAll(cleanUp);

interface VisitRow {
  project_id: number;
  timestamp: number;
}

const visitBlock = () =>
  new TableBlock<VisitRow>([["project_id", "UInt32", (out, row) => out.u32(row.project_id)]], () => 4);

/** All that a new lane is. */
const visitLane: LaneKind<ReturnType<typeof visitBlock>> = {
  ...plainLane,
  name: "visits",
  table: "visits",
  toPartition: toMonth,
  openBlock: visitBlock,
  segmentBytesMax: 1 << 20,
};

test("a new lane is one value: its rows outlive a kill, and are stored in its table", async () => {
  const folder = makeFolder();
  const lanes = [...captureLanes, visitLane];
  const open = () => openJournal(`${folder}/journal`, { lanes });
  const killed = open();
  const lane = killed.getLane(visitLane);
  for (const project_id of [7, 8]) lane.append({ project_id, timestamp: Date.UTC(2026, 0, project_id) });
  await lane.commit();
  expect(killed.pending().events).toBe(0);
  const journal = open();
  expect(journal.nextSealed(visitLane)?.rows).toBe(2);
  const stored: [table: string, project: unknown][] = [];
  const clickhouse: Partial<ClickHouse> = {
    embedded: false,
    query: () => Promise.resolve([]),
    insertNative: (table, body) => {
      const bytes = "bytes" in body ? Buffer.concat(body.bytes) : Buffer.alloc(0);
      stored.push(...readBlocks(bytes).map((row): [string, unknown] => [table, row["project_id"]]));
      return Promise.resolve();
    },
  };
  const flush = new Flush({
    journal,
    definitions: noDefinitions,
    clickhouse: clickhouse as ClickHouse,
    quarantine: new Quarantine({ io: systemIo, lanes }, folder),
    folder: `${folder}/flush`,
    counts: { stored: () => {}, quarantined: () => {}, seconds: () => {} },
    clock: systemClock,
    log: silentLog,
  });
  flush.start();
  await flush.drain(60_000);
  expect(stored).toEqual([
    ["visits", 7],
    ["visits", 8],
  ]);
  for (const one of [journal, killed]) await one.close().then(() => one.release());
});

test("each lane of capture has a name of its own, by which its files are found", () => {
  const names = captureLanes.map(({ name }) => name);
  expect(names).toEqual(["live", "historical", "warnings", "merges", "recordings"]);
  for (const name of names) expect(name).toMatch(/^[a-z]+$/);
});
