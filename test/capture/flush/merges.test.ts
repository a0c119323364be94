import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { basename } from "node:path";
import type { CaptureJournal } from "../../../src/capture/capture_journal.ts";
import { mergeLane } from "../../../src/capture/event/merge_row.ts";
import { MergeFlush } from "../../../src/capture/flush/merges.ts";
import { silentLog as log } from "../../../src/core/log.ts";
import { noTrouble } from "../../../src/storage/engine_watch.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, openJournal } from "../../support/journal.ts";
import { until } from "../../support/server.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

let stores: Stores;

beforeAll(async () => void (stores = await openMadeStores()), storesStartMsMax);
beforeEach(async () => void (await stores.sql`TRUNCATE merge_segments, merged_ids`));
afterAll(cleanUp);

function openFlush(journal: CaptureJournal): MergeFlush {
  const { sql, clickhouse } = stores;
  const flush = new MergeFlush({
    journal,
    sql,
    clickhouse,
    onApplied: () => {},
    readTrouble: () => noTrouble,
    log,
  });
  later(async () => {
    await journal.close();
    await flush.drain(1000);
    await journal.release();
  });
  return flush;
}

/** As a transaction leaves it that applied the segment. */
async function note(...names: string[]): Promise<void> {
  for (const name of names)
    await stores.sql`INSERT INTO merge_segments (name, version) VALUES (${name}, nextval('merge_versions'))`;
}

async function noted(): Promise<string[]> {
  const rows = await stores.sql<{ name: string }[]>`SELECT name FROM merge_segments ORDER BY name`;
  return rows.map(({ name }) => name);
}

async function mergedIds(): Promise<number> {
  const [row] = await stores.sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM merged_ids`;
  return row!.n;
}

// The journal is number 3.
const [done, others] = ["merges-0003aaaaaaaaa003.segment", "merges-0003aaaaaaaaa004.segment"];

test("a segment whose process was killed before it was forgotten is forgotten at the next start", async () => {
  await note(done, others);
  openFlush(openJournal(makeFolder())).start();
  await until(async () => !(await noted()).includes(done));
  expect(await noted()).toEqual([others]);
});

test("a segment whose process was killed before it was removed is not applied twice", async () => {
  const journal = openJournal(makeFolder());
  appendTo(journal, "merges", 1);
  await journal.merges.seal();
  await note(done, basename(journal.nextSealed(mergeLane)!.path));
  openFlush(journal).start();
  await until(async () => (await noted()).length === 0);
  expect(journal.nextSealed(mergeLane)).toBeUndefined();
  expect(await mergedIds()).toBe(0);
});

test("a segment is applied, and forgotten with its file", async () => {
  const journal = openJournal(makeFolder());
  openFlush(journal).start();
  appendTo(journal, "merges", 1);
  await journal.merges.seal();
  await until(async () => (await mergedIds()) === 2);
  await until(async () => (await noted()).length === 0 && journal.nextSealed(mergeLane) === undefined);
});
