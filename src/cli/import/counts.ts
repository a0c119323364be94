// The counts of an import. Every record is counted once: accepted, ignored, rejected or skipped.

export interface ImportCounts {
  /** Rows that the server has answered: accepted and ignored. */
  sent: number;
  accepted: number;
  /** Rows from which the server made no event, by its reason. */
  ignored: Record<string, number>;
  /** Warnings about accepted rows, by reason: what the server cut, replaced or left out. */
  warned: Record<string, number>;
  /** Records that cannot be imported, and rows that the server finds too large. */
  rejected: number;
  /** Records left out on purpose, by reason. */
  skipped: Record<string, number>;
}

export function noCounts(): ImportCounts {
  return { sent: 0, accepted: 0, ignored: {}, warned: {}, rejected: 0, skipped: {} };
}

export function addCounts(to: ImportCounts, from: ImportCounts): void {
  to.sent += from.sent;
  to.accepted += from.accepted;
  to.rejected += from.rejected;
  for (const kind of ["ignored", "warned", "skipped"] as const) {
    for (const [reason, count] of Object.entries(from[kind]))
      to[kind][reason] = (to[kind][reason] ?? 0) + count;
  }
}

export function sumCounts(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Writes separators: 1,234,567. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}
