// Partitions of tables, computed as ClickHouse computes them: if one row of a batch were in another partition than the
// rest, half of the batch could be stored without the other.

const dayMicros = 86_400_000_000;
let lastDay = Number.NaN;
let lastMonth = 0;

/** toYYYYMM of a time in microseconds since 1970, UTC. */
export function monthOf(micros: number): number {
  const day = Math.floor(micros / dayMicros);
  if (day !== lastDay) {
    const date = new Date(day * 86_400_000);
    lastMonth = date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
    lastDay = day;
  }
  return lastMonth;
}

/** toYear of a time in microseconds since 1970, UTC. */
export function yearOf(micros: number): number {
  return Math.floor(monthOf(micros) / 100);
}
