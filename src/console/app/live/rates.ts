// What the live page draws, out of counters as the stream sends them: differences by the second.

import type { FiguresMessage } from "./messages.ts";

/** Messages that are kept: two minutes. */
export const historyMax = 120;

export function withMessage(
  history: readonly FiguresMessage[],
  message: FiguresMessage,
): readonly FiguresMessage[] {
  const last = history.at(-1);
  // A server that began anew counts from zero.
  const isRestarted = last !== undefined && total(message.accepted) < total(last.accepted);
  return [...(isRestarted ? [] : history), message].slice(-historyMax);
}

export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Seconds since 1970 of each difference. */
export function timesOf(history: readonly FiguresMessage[]): number[] {
  return history.slice(1).map(({ at }) => at / 1000);
}

/** By the second, between each message and the one before. */
export function ratesOf(
  history: readonly FiguresMessage[],
  read: (message: FiguresMessage) => number,
): number[] {
  return history.slice(1).map((message, i) => {
    const before = history[i]!;
    const seconds = (message.at - before.at) / 1000;
    return seconds > 0 ? Math.max(0, read(message) - read(before)) / seconds : 0;
  });
}

/** The mean of the last `count` rates. */
export function latelyOf(rates: readonly number[], count = 5): number {
  const lately = rates.slice(-count);
  return lately.length === 0 ? 0 : lately.reduce((sum, rate) => sum + rate, 0) / lately.length;
}
