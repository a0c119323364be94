// Numbers, changes, days and durations as text.

import { readStoredZone } from "../../storage/clickhouse/zones.ts";
import type { Figure } from "./model.ts";

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
// Ticks are up to six steps of 1, 2, 2.5 or 5 times a power of ten: two digits show each exactly.
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

export function numberText(value: number, unit: "" | "%" = ""): string {
  return `${plain.format(value)}${unit}`;
}

/** Shortens a number for the axis of a chart: 1.25K, 3M. */
export function shortText(value: number, unit: "" | "%" = ""): string {
  return `${Math.abs(value) < 1000 ? plain.format(value) : compact.format(value)}${unit}`;
}

/** The change of a figure since the last delivery, or the time before; undefined without one. */
export function computeChange(figure: Figure): { up: boolean | null; text: string } | undefined {
  const { value, before, unit, since = "since last time" } = figure;
  if (before === null) return undefined;
  const was = numberText(before, unit);
  if (value === before) return { up: null, text: `no change ${since}` };
  const up = value > before;
  const sign = up ? "+" : "−";
  const difference = Math.abs(value - before);
  const moved =
    unit === "%"
      ? `${sign}${plain.format(difference)} points`
      : before === 0
        ? `${sign}${plain.format(difference)}`
        : `${sign}${tenths.format((difference / Math.abs(before)) * 100)}%`;
  return { up, text: `${moved} ${since} (${was})` };
}

/** `21 November 2026` in `timezone`. `at`: ms since 1970. */
export function dayText(at: number, timezone: string | null): string {
  const timeZone = readStoredZone(timezone ?? "UTC");
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone }).format(at);
}

/** A duration in its usual unit: `45 s`, `3 min`, `2.5 h`, `1.2 d`. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${plain.format(Math.round(seconds))} s`;
  if (seconds < 5400) return `${plain.format(Math.round(seconds / 60))} min`;
  if (seconds < 129_600) return `${plain.format(Math.round(seconds / 360) / 10)} h`;
  return `${plain.format(Math.round(seconds / 8640) / 10)} d`;
}
