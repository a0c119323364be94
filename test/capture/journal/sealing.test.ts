// When a growing segment is sealed: by its age, and an import's later than live ones.

import { afterAll, afterEach, expect, test } from "bun:test";
import type { CaptureJournal } from "../../../src/capture/capture_journal.ts";
import type { LaneKind } from "../../../src/capture/journal/lane_kind.ts";
import type { Segment } from "../../../src/capture/journal/segments/segment.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, clockAt, openJournal } from "../../support/journal.ts";

afterAll(cleanUp);

const flushIntervalMs = 600_000;
let journal: CaptureJournal;

afterEach(async () => {
  await journal.close();
  await journal.release();
});

function open() {
  const clock = clockAt(1_700_000_000_000);
  journal = openJournal(makeFolder(), { clock, flushIntervalMs });
  /** Appends twice an interval; resolves to after how many intervals a segment is sealed. */
  const intervalsUntilSealed = async (lane: "live" | "historical"): Promise<number> => {
    for (let halves = 0; ; halves++) {
      const sealed = journal.nextSealed(journal[lane].kind);
      if (sealed) {
        await journal.finish(sealed);
        return (halves - 1) / 2;
      }
      appendTo(journal, lane, halves);
      await journal[lane].commit();
      await journal.poll();
      // What look() has asked for is done in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      clock.millis += flushIntervalMs / 2;
    }
  };
  return { clock, intervalsUntilSealed };
}

test("a segment of live events is sealed after one interval", async () => {
  const { intervalsUntilSealed } = open();
  for (let i = 0; i < 3; i++) expect(await intervalsUntilSealed("live")).toBe(1);
});

test("an import's first segment is sealed after one interval, and later ones grow for longer", async () => {
  const { clock, intervalsUntilSealed } = open();
  const growIntervalsMax = captureLimits.historicalGrowIntervalsMax;
  expect(await intervalsUntilSealed("historical")).toBe(1);
  for (let i = 0; i < 3; i++) expect(await intervalsUntilSealed("historical")).toBe(growIntervalsMax);
  // The next import.
  clock.millis += flushIntervalMs * growIntervalsMax;
  expect(await intervalsUntilSealed("historical")).toBe(1);
});

test.each(["live", "historical"] as const)(
  "a %s segment that comes of age while the flush is late is sealed once it is not",
  async (lane) => {
    const { clock } = open();
    const { kind } = journal[lane];
    for (let i = 0; i < kind.flushesAtOnce; i++) {
      appendTo(journal, lane, i);
      await journal[lane].commit();
      await journal[lane].seal();
    }
    const late = journal.nextSealed(kind)!;
    appendTo(journal, lane, kind.flushesAtOnce);
    await journal[lane].commit();
    await journal.poll();
    clock.millis += flushIntervalMs;
    await journal.poll();
    expect(sealedCount(kind)).toBe(kind.flushesAtOnce);
    await journal.finish(late);
    await journal.poll();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sealedCount(kind)).toBe(kind.flushesAtOnce);
  },
);

function sealedCount(kind: LaneKind): number {
  const sealed = new Set<Segment>();
  for (let next = journal.nextSealed(kind); next; next = journal.nextSealed(kind, sealed)) sealed.add(next);
  return sealed.size;
}
