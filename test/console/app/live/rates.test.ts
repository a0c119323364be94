import { expect, test } from "bun:test";
import {
  type FiguresMessage,
  historyMax,
  listRates,
  listTimes,
  measureImport,
  recentRate,
  withMessage,
} from "../../../../src/console/app/live/rates.ts";

function message(at: number, live: number): FiguresMessage {
  const counts = { accepted: { live }, stored: {}, ignored: {}, warned: {}, refused: {} };
  const gauges = { pending_events: 0, pending_bytes: 0, quarantined: 0, spikes: 0, disk_free_bytes: 0 };
  return { at, ...counts, ...gauges, captures: { count: 0, seconds: 0 }, behind_ms: null };
}

const live = ({ accepted }: FiguresMessage) => accepted["live"] ?? 0;

test("rates are differences by the second, at the time of the later message", () => {
  const history = [message(1000, 0), message(2000, 50), message(4000, 60), message(4000, 70)];
  expect(listRates(history, live)).toEqual([50, 5, 0]);
  expect(listTimes(history)).toEqual([2, 4, 4]);
  expect(recentRate([1, 2, 3, 4], 2)).toBe(3.5);
  expect(recentRate([])).toBe(0);
});

test("the history is two minutes, and begins anew with a server that counts from zero", () => {
  let history: readonly FiguresMessage[] = [];
  for (let n = 0; n < 500; n++) history = withMessage(history, message(n * 1000, n));
  expect(history).toHaveLength(historyMax);
  expect(history.at(-1)?.at).toBe(499_000);
  expect(withMessage(history, message(500_000, 3))).toEqual([message(500_000, 3)]);
});

/** A second of an import: events accepted and stored since the server started, and all that wait. */
function imported(second: number, accepted: number, stored: number, pending_events: number): FiguresMessage {
  const counts = { accepted: { live: 7, historical: accepted }, stored: { historical: stored } };
  return { ...message(second * 1000, 0), ...counts, pending_events };
}

test("an import shows what arrived, what is stored, and how long the rest takes", () => {
  expect(measureImport([])).toBeUndefined();
  expect(measureImport([message(0, 5), message(1000, 9)])).toBeUndefined();
  expect(measureImport([imported(0, 0, 0, 0), imported(1, 1000, 0, 1000)])).toEqual({
    accepted: 1000,
    stored: 0,
    acceptedRate: 1000,
    storedRate: 0,
    pending: 1000,
    remainingSeconds: undefined,
  });
  const history = [imported(0, 3000, 0, 3000), imported(1, 3000, 500, 2500), imported(2, 3000, 1000, 2000)];
  expect(measureImport(history)).toMatchObject({
    acceptedRate: 0,
    storedRate: 500,
    pending: 2000,
    remainingSeconds: 4,
  });
  expect(measureImport([...history, imported(3, 3000, 3000, 0)])).toMatchObject({
    pending: 0,
    remainingSeconds: 0,
  });
});

test("live events that wait are none of an import, but what an earlier process left behind may be", () => {
  expect(measureImport([imported(0, 1000, 900, 5000)])).toMatchObject({ pending: 100 });
  expect(measureImport([imported(0, 0, 900, 5000)])).toMatchObject({ pending: 5000 });
});
