// Relations between limits that the code, or the reason of a limit, depends on.

import { expect, test } from "bun:test";
import { accessLimits } from "../../src/access/limits.ts";
import { exportLimits } from "../../src/batch_exports/limits.ts";
import { captureLanes } from "../../src/capture/capture_journal.ts";
import { journalLimits } from "../../src/capture/journal/limits.ts";
import { batchId, segmentId } from "../../src/capture/journal/segments/segment.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { limits } from "../../src/core/limits.ts";
import { retentionLimits } from "../../src/event_retention/limits.ts";
import { chdbServerLimits } from "../../src/storage/chdb_server/limits.ts";
import { clickhouseLimits } from "../../src/storage/clickhouse/limits.ts";
import { storageLimits } from "../../src/storage/limits.ts";
import { subscriptionLimits } from "../../src/subscriptions/limits.ts";
import { uploadLimits } from "../../src/work/bodies/limits.ts";

/** Holds that the values rise, each strictly. */
function expectRising(...values: number[]): void {
  for (const [i, value] of values.slice(1).entries()) expect(values[i]!).toBeLessThan(value);
}

test("a batch number has 11 bits of place and 12 of journal, and fits 64 bits until 2089", () => {
  expect(journalLimits.segmentBatchesMax).toBe(2 ** 11);
  expect(journalLimits.journalsCountMax).toBe(2 ** 12);
  const last = segmentId(Date.UTC(2089, 0), journalLimits.journalsCountMax - 1);
  const batch = batchId(last, journalLimits.segmentBatchesMax - 1);
  expect(BigInt.asUintN(64, batch)).toBe(batch);
  expect(batch >> 11n).toBe(last);
  expect(last & 0xfffn).toBe(0xfffn);
});

test("a living process is seen before others give it up", () => {
  expectRising(2 * captureLimits.watermarkMs, journalLimits.journalAliveMs, storageLimits.journalUnseenMsMax);
  expectRising(2 * exportLimits.beatMs, exportLimits.leaseMs);
  const endMsMax = storageLimits.leaseEndTriesMax ** 2 * storageLimits.leaseEndRetryMs;
  expectRising(endMsMax, exportLimits.leaseMs, subscriptionLimits.deliveryClaimMs);
  const { passBeatMs, passLeaseMs, leaseAheadMsMax } = storageLimits;
  expectRising(endMsMax, 2 * passBeatMs, passLeaseMs, subscriptionLimits.deliveryClaimMs, leaseAheadMsMax);
  expectRising(passLeaseMs, retentionLimits.expiryPollMs);
  expectRising(subscriptionLimits.webhookMsMax, subscriptionLimits.deliveryClaimMs);
  expectRising(subscriptionLimits.smtpSendMsMax, subscriptionLimits.deliveryClaimMs);
});

test("what ends in order waits less long than what waits for it", () => {
  expectRising(chdbServerLimits.endMsMax, limits.childStopMsMax, limits.stopStoresMsMax);
  const { stopRequestsMsMax, stopFlushMsMin, stopStoresMsMax } = limits;
  expectRising(stopRequestsMsMax + stopFlushMsMin + stopStoresMsMax, limits.stopMsMax, 25_000);
  // A revoked key stops working within 5 s, and an unknown one has its answer within 5 s.
  expectRising(accessLimits.foundAgeMsMax, 5000);
  expectRising(accessLimits.keysReadMsMax, 5000);
});

test("shares of the memory for bodies rise with how short the bodies are", () => {
  const { memoryFraction, memoryLongFraction, memoryUsualFraction } = uploadLimits;
  expectRising(memoryFraction, memoryLongFraction, memoryUsualFraction, 1);
  expect(uploadLimits.shortBytesMax).toBe(captureLimits.arenaBodyBytesMin);
  expectRising(uploadLimits.claimBytesMin, limits.wholeBodyBytesMax, uploadLimits.unseenBytesMax);
  expectRising(captureLimits.arenaBodyBytesMin, limits.wholeBodyBytesMax, uploadLimits.memoryBytes);
  expectRising(uploadLimits.receiveBytesMin, uploadLimits.receiveBytesMax);
});

test("the embedded engine has places, memory and texts for all that this program sends it", () => {
  expect(clickhouseLimits.readLargeBytesMax).toBe(352_000_000);
  expectRising(clickhouseLimits.readExportBytesMax, clickhouseLimits.readLargeBytesMax);
  const flushed = captureLanes.filter(({ sink }) => sink === "clickhouse");
  const natives = flushed.filter(({ isNative }) => isNative);
  const flushes = natives.reduce((sum, { flushesAtOnce }) => sum + flushesAtOnce, 0);
  expect(captureLimits.workersByDefaultMax * flushes).toBeLessThan(storageLimits.engineStatementsMax);
  expect(flushed.length).toBeLessThan(clickhouseLimits.clickhouseConnectionsMax);
  expectRising(clickhouseLimits.clickhouseParamBytesMax, chdbServerLimits.paramBytesMax);
});
