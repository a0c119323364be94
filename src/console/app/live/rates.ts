// Computes what the live page shows from the counters of the stream: rates a second, the progress of an import.

/** A message of the stream, as the server writes it. */
export interface FiguresMessage {
  at: number;
  accepted: Record<string, number>;
  stored: Record<string, number>;
  ignored: Record<string, number>;
  warned: Record<string, number>;
  refused: Record<string, number>;
  pending_events: number;
  pending_bytes: number;
  quarantined: number;
  spikes: number;
  disk_free_bytes: number;
  captures: { count: number; seconds: number };
  behind_ms: number | null;
}

/** Messages that are kept: two minutes. */
export const historyMax = 120;

export function withMessage(
  history: readonly FiguresMessage[],
  message: FiguresMessage,
): readonly FiguresMessage[] {
  const last = history.at(-1);
  // A restarted server counts from zero.
  const isRestarted = last !== undefined && total(message.accepted) < total(last.accepted);
  return [...(isRestarted ? [] : history), message].slice(-historyMax);
}

export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The progress of an import: events of the historical lane. */
export interface ImportProgress {
  accepted: number;
  stored: number;
  /** Events a second, over the last seconds. */
  acceptedRate: number;
  storedRate: number;
  /** Accepted and not stored yet. */
  pending: number;
  /** Time until everything accepted so far is stored, in seconds; undefined while nothing is being stored. */
  remainingSeconds: number | undefined;
}

/** The rate of storing is a mean of half a minute: an import's segments are stored several seconds apart. */
const importSeconds = 30;

/** undefined when nothing was imported since the server started. */
export function measureImport(history: readonly FiguresMessage[]): ImportProgress | undefined {
  const last = history.at(-1);
  const lane = "historical";
  const [accepted, stored] = [last?.accepted[lane] ?? 0, last?.stored[lane] ?? 0];
  if (!last || accepted + stored === 0) return undefined;
  const measureRate = (counts: "accepted" | "stored", seconds: number) => {
    const rates = listRates(history, (item) => item[counts][lane] ?? 0);
    return recentRate(rates, seconds);
  };
  const [acceptedRate, storedRate] = [measureRate("accepted", 5), measureRate("stored", importSeconds)];
  // After a restart, events of the previous process are stored, too: then all pending ones may be of the import.
  const pending = Math.min(last.pending_events, stored > accepted ? Infinity : accepted - stored);
  const remainingSeconds = pending === 0 ? 0 : storedRate > 0 ? pending / storedRate : undefined;
  return { accepted, stored, acceptedRate, storedRate, pending, remainingSeconds };
}

/** Seconds since 1970 of each difference. */
export function listTimes(history: readonly FiguresMessage[]): number[] {
  return history.slice(1).map(({ at }) => at / 1000);
}

/** Rates a second, between each message and the one before. */
export function listRates(
  history: readonly FiguresMessage[],
  read: (message: FiguresMessage) => number,
): number[] {
  return history.slice(1).map((message, i) => {
    const before = history[i]!;
    const seconds = (message.at - before.at) / 1000;
    return seconds > 0 ? Math.max(0, read(message) - read(before)) / seconds : 0;
  });
}

export function recentRate(rates: readonly number[], count = 5): number {
  const lately = rates.slice(-count);
  return lately.length === 0 ? 0 : lately.reduce((sum, rate) => sum + rate, 0) / lately.length;
}
