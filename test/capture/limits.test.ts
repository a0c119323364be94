// Relations between limits that capture, or the reason of its limits, depends on.

import { expect, test } from "bun:test";
import { fitImportBatch } from "../../src/capture/columns/block.ts";
import { journalLimits } from "../../src/capture/journal/limits.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { importLimits } from "../../src/cli/import/limits.ts";
import { limits } from "../../src/core/limits.ts";
import { engineBounds } from "../../src/storage/embedded/engine_config.ts";
import { embeddedLimits } from "../../src/storage/embedded/limits.ts";

/** Holds that the values rise, each strictly. */
function expectRising(...values: number[]): void {
  for (const [i, value] of values.slice(1).entries()) expect(values[i]!).toBeLessThan(value);
}

test("a segment holds what the reserve of the disk and an INSERT allow", () => {
  expect(journalLimits.diskReserveBytesMax).toBe(4 * captureLimits.historicalSegmentBytesMax);
  expectRising(journalLimits.diskReserveBytesMin, journalLimits.diskReserveBytesMax);
  expectRising(captureLimits.batchBytesMax, 256 * 1024 * 1024);
  expect(captureLimits.insertPartitionsMax).toBeLessThanOrEqual(journalLimits.segmentBatchesMax);
  expect(captureLimits.snapshotBytesMax).toBeLessThanOrEqual(captureLimits.snapshotSegmentBytesMax);
});

test("INSERTs that run at once leave memory of the smallest engine to reads and merges", () => {
  // As read, squashed to one block, sorted, and compressed.
  const timesBytes = 4;
  const { batchBytesMax, importBatchBytesMax, historicalFlushesMax, liveSegmentBytesMax } = captureLimits;
  const gibibytes = [1, 2, 4, 8, 24, 64].map((gibibyte) => gibibyte * 2 ** 30);
  for (const { serverBytes } of gibibytes.map(engineBounds)) {
    const atOnce = fitImportBatch(serverBytes) * historicalFlushesMax + batchBytesMax + liveSegmentBytesMax;
    if (serverBytes >= embeddedLimits.engineMemoryBytesMin) {
      expect(atOnce * timesBytes).toBeLessThanOrEqual(serverBytes / 2);
    }
  }
  expect(fitImportBatch(embeddedLimits.engineMemoryBytesMin)).toBe(batchBytesMax);
  expect(fitImportBatch(12 * 2 ** 30)).toBeWithin(96 * 2 ** 20, importBatchBytesMax + 1);
});

test("a reply lists every ignored event of a v1 request and of an import's body", () => {
  expect(captureLimits.v1EventsMax).toBeLessThanOrEqual(captureLimits.ignoredListMax);
  expect(importLimits.bodyRowsMax).toBeLessThanOrEqual(captureLimits.ignoredListMax);
  expectRising(limits.eventBytesMax, importLimits.recordBytesMax, importLimits.bodyBytesMax);
  expect(captureLimits.v1InflatedBytesMax).toBeLessThanOrEqual(limits.inflatedBytesMax);
});

test("a day's salt is made before the day begins anywhere", () => {
  expect(captureLimits.saltMadeAheadMs).toBeGreaterThan(-captureLimits.cookielessDayBeginsMs);
});
