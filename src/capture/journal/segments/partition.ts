// Partitions of tables, computed as ClickHouse computes them: if one row of a batch were in another partition than the
// rest, half of the batch could be stored without the other.

const dayMicros = 86_400_000_000;

/** toYYYYMM of a time in microseconds since 1970, UTC. */
export function toMonth(micros: number): number {
  // Days since March 1 of the year 0, in eras of 400 years; months are counted from March.
  const days = Math.floor(micros / dayMicros) + 719_468;
  const era = Math.floor(days / 146_097);
  const day = days - era * 146_097;
  const leaps = Math.floor(day / 1460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const year = Math.floor((day - leaps) / 365);
  const dayOfYear = day - 365 * year - Math.floor(year / 4) + Math.floor(year / 100);
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const isNext = month >= 10;
  return (era * 400 + year + (isNext ? 1 : 0)) * 100 + month + (isNext ? -9 : 3);
}

/** toYear of a time in microseconds since 1970, UTC. */
export function toYear(micros: number): number {
  return Math.floor(toMonth(micros) / 100);
}
