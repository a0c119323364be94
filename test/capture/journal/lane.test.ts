import { afterAll, expect, test } from "bun:test";
import { CommitGroups, CommitWaiters } from "../../../src/capture/journal/lane.ts";
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
