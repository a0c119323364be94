import { expect, test } from "bun:test";
import type { FiguresMessage } from "../../../src/console/app/live/messages.ts";
import { historyMax, latelyOf, ratesOf, timesOf, withMessage } from "../../../src/console/app/live/rates.ts";

function message(at: number, live: number): FiguresMessage {
  const counts = { accepted: { live }, stored: {}, ignored: {}, warned: {}, refused: {} };
  const gauges = { pending_events: 0, pending_bytes: 0, quarantined: 0, spikes: 0, disk_free_bytes: 0 };
  return { at, ...counts, ...gauges, captures: { count: 0, seconds: 0 }, behind_ms: null };
}

const live = ({ accepted }: FiguresMessage) => accepted["live"] ?? 0;

test("rates are differences by the second, at the time of the later message", () => {
  const history = [message(1000, 0), message(2000, 50), message(4000, 60), message(4000, 70)];
  expect(ratesOf(history, live)).toEqual([50, 5, 0]);
  expect(timesOf(history)).toEqual([2, 4, 4]);
  expect(latelyOf([1, 2, 3, 4], 2)).toBe(3.5);
  expect(latelyOf([])).toBe(0);
});

test("the history is two minutes, and begins anew with a server that counts from zero", () => {
  let history: readonly FiguresMessage[] = [];
  for (let n = 0; n < 500; n++) history = withMessage(history, message(n * 1000, n));
  expect(history).toHaveLength(historyMax);
  expect(history.at(-1)?.at).toBe(499_000);
  expect(withMessage(history, message(500_000, 3))).toEqual([message(500_000, 3)]);
});
