// The counts of an import. Every record of every file is in exactly one of them.

export interface ImportCounts {
  /** Rows the server has answered for: accepted and ignored. */
  sent: number;
  accepted: number;
  /** Rows the server took no event from, by its reason. */
  ignored: Record<string, number>;
  /** Records that were not sent, or that no body is small enough for. */
  rejected: number;
  /** Records left out on purpose, by reason. */
  skipped: Record<string, number>;
}

export function noCounts(): ImportCounts {
  return { sent: 0, accepted: 0, ignored: {}, rejected: 0, skipped: {} };
}

export function addCounts(to: ImportCounts, from: ImportCounts): void {
  to.sent += from.sent;
  to.accepted += from.accepted;
  to.rejected += from.rejected;
  for (const kind of ["ignored", "skipped"] as const) {
    for (const [reason, count] of Object.entries(from[kind]))
      to[kind][reason] = (to[kind][reason] ?? 0) + count;
  }
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function grouped(count: number): string {
  return count.toLocaleString("en");
}
