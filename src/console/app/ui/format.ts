// Numbers and times as people read them.

import { nowMs } from "../clock.ts";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export function numberText(value: number): string {
  return Math.abs(value) < 100 ? fine.format(value) : whole.format(value);
}

/** A text of at most `lettersMax` letters; a cut one ends with "…". */
export function shortText(text: string, lettersMax: number): string {
  return text.length > lettersMax ? `${text.slice(0, lettersMax - 1)}…` : text;
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export function splitText(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** `+3 %`, `−3 %`, `±0 %`. */
export function signedText(change: number, unit: string): string {
  return `${change > 0 ? "+" : change < 0 ? "−" : "±"}${Math.abs(change)}${unit}`;
}

export function percentText(part: number, of: number): string {
  return of === 0 ? "–" : `${tenth.format((part / of) * 100)} %`;
}

export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${value < 10 ? fine.format(value) : whole.format(value)} ${units[unit]}`;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A day that begins a text, with its time if it has one, in words: `Mar 1, 2026, 14:00`. Other texts stay. */
export function dayText(text: string): string {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d)(?::00)?)?(?![\d:.])/.exec(text);
  if (!found) return text;
  const [whole, year, month, day, time] = found;
  const name = months[Number(month) - 1];
  return `${name} ${Number(day)}, ${year}${time ? `, ${time}` : ""}${text.slice(whole.length)}`;
}

const rangeUnits: Readonly<Record<string, string>> = {
  h: "hours",
  d: "days",
  w: "weeks",
  m: "months",
  y: "years",
};

/** `-21d` as "21 days"; others as they are. */
export function rangeText(from: string): string {
  const [, count, unit = ""] = /^-(\d{1,4})([hdwmy])$/.exec(from) ?? [];
  return count === undefined ? from : `${count} ${rangeUnits[unit]}`;
}

/** A duration, e.g. `3 min 20 s`. */
export function durationText(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${whole.format(seconds * 1000)} ms`;
  if (seconds < 60) return `${fine.format(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${whole.format(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** `Jan 2, 2026, 03:04:05` in the reader's zone; "" for none. */
export function timeText(iso: string | null | undefined): string {
  const [day = "", time = ""] = localTime(iso);
  return time === "" ? day : `${dayText(day)}, ${time}`;
}

/** `03:04:05` in the reader's zone. */
export function clockTimeText(iso: string): string {
  return localTime(iso)[1] ?? "";
}

/** Day and time in the reader's zone; a text that is no moment as it is. */
function localTime(iso: string | null | undefined): string[] {
  const time = new Date(iso ?? "");
  if (!iso || Number.isNaN(time.getTime())) return [iso ?? ""];
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).split("T");
}

/** Seconds of a day. */
const day = 86_400;

/** How long ago, in its largest unit, e.g. `3 min ago`. */
export function agoText(iso: string | null | undefined): string {
  if (!iso) return "never";
  const seconds = (nowMs() - new Date(iso).getTime()) / 1000;
  if (Number.isNaN(seconds)) return iso;
  if (seconds < -1) return timeText(iso);
  if (seconds < 2) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 2 * day) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 60 * day) return `${Math.floor(seconds / day)} days ago`;
  if (seconds < 730 * day) return `${Math.floor(seconds / day / 30.4)} months ago`;
  return `${Math.floor(seconds / day / 365.25)} years ago`;
}

/** A browser and its system, in two words, from a user agent. */
export function browserText(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(agent)?.[1] ?? "A browser";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1];
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera" };
  return `${names[browser] ?? browser}${system ? ` on ${system}` : ""}`;
}
