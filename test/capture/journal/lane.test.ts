import { afterAll, expect, test } from "bun:test";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { CommitGroups, CommitWaiters } from "../../../src/capture/journal/lane.ts";
import { journalLimits } from "../../../src/capture/journal/limits.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { yieldToEventLoop } from "../../../src/core/clock.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, openJournal } from "../../support/journal.ts";

afterAll(cleanUp);

/** A lane whose groups end when they are told to. */
class StubLane {
  group = new CommitWaiters();
  commits = 0;

  commit(): Promise<void> {
    this.commits++;
    return this.group.promise;
  }

  /** Closes the open group; what is appended from now on is in the next one. */
  next(): CommitWaiters {
    const { group } = this;
    this.group = new CommitWaiters();
    return group;
  }
}

test("rows are committed by the groups that hold them, whenever these ended", async () => {
  const lane = new StubLane();
  const groups = new CommitGroups();
  groups.join(lane);
  lane.next().commit();
  groups.join(lane);
  groups.join(lane);
  const committed = groups.commit();
  expect(lane.commits).toBe(1);
  lane.next().commit();
  await committed;
  // What others' groups come to does not matter.
  lane.next().fail();
  await groups.commit();
  groups.check();
});

test("one group of several that could not be written refuses the request, known before or after it asks", async () => {
  const [early, late] = [new StubLane(), new StubLane()];
  const first = new CommitGroups();
  first.join(early);
  first.join(late);
  early.next().fail();
  expect(() => first.check()).toThrow("cannot be written");
  late.next().commit();
  await expect(first.commit()).rejects.toMatchObject({ code: "unavailable" });
  const second = new CommitGroups();
  second.join(early);
  second.join(late);
  second.check();
  const committed = second.commit();
  early.next().commit();
  late.next().fail();
  await expect(committed).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
});

test("without rows there is nothing to wait for", async () => {
  await new CommitGroups().commit();
});

test("a group is on its way to the disk after one slice of somebody's work, however many work off something long", async () => {
  const journal = openJournal(makeFolder());
  appendTo(journal, "live", 1);
  await journal.live.commit();
  let [slices, isOver] = [0, false];
  const workers = Array.from({ length: 100 }, async () => {
    while (!isOver) {
      await yieldToEventLoop();
      slices++;
    }
  });
  while (slices < 200) await yieldToEventLoop();
  const before = slices;
  appendTo(journal, "live", 2);
  const committed = journal.live.commit();
  while (journal.live.openRows > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(slices - before).toBeLessThanOrEqual(2);
  isOver = true;
  await Promise.all([committed, ...workers]);
  await journal.close();
  await journal.release();
});

test("empty blocks of whatever years and columns keep no more memory than a lane may, and none once it is idle", async () => {
  const journal = openJournal(makeFolder());
  const { live } = journal;
  const long = "a".repeat(900_000);
  const row = emptyRow();
  const fills = [
    { properties: `{"$browser":"${long}"}` },
    { properties: `{"$os":"${long}"}` },
    { event: long },
  ];
  const write = async (year: number, texts: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(texts)) {
      const source = toBytes(text);
      Object.assign(row, { [name]: { source, from: 0, to: source.length } });
    }
    row.timestamp = Date.UTC(year) * 1000;
    for (let i = 0; i < 5; i++) live.append(row);
    await live.commit();
  };
  // A block that is open takes another out of those that are kept.
  for (const texts of fills) {
    for (let year = 1990; year < 2000; year++) {
      live.append(Object.assign(row, { timestamp: Date.UTC(year - 50) * 1000 }));
      await write(year, texts);
      expect(live.recycledBytes).toBeLessThanOrEqual(journalLimits.recycledBlocksBytesMax);
    }
  }
  expect(live.recycledBytes).toBeGreaterThan(0);
  await live.releaseIdle();
  expect(live.recycledBytes).toBe(0);
  await journal.close();
  await journal.release();
});

test("what a block counts as its memory is what its columns have in all", () => {
  const [block, row] = [new Block(), emptyRow()];
  const source = new Uint8Array(4_000_000).fill(0x61);
  for (const name of ["event", "distinct_id", "properties"] as const)
    Object.assign(row, { [name]: { source, from: 0, to: source.length } });
  block.append(row);
  block.clear();
  expect(block.capacity).toBeGreaterThanOrEqual(3 * source.length);
});
