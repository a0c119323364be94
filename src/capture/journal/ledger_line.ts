// The lines of the ledger, each with a sum of itself: FORMAT.md has them.

import { crc32 } from "node:zlib";
import type { Extent } from "./segments/synced_marks.ts";

/** A segment is finished; "-" is none, for the newest id alone. */
export function finishedLine(name: string, millis: number): string {
  return summed(`${name} ${millis}`);
}

/** A segment will not change any more. */
export function sealedLine(name: string, millis: number, { bytes, rows }: Extent): string {
  return summed(`+${name} ${millis} ${bytes} ${rows}`);
}

function summed(text: string): string {
  return `${text} ${computeChecksum(text)}\n`;
}

function computeChecksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

const lineShape = /^(\+?)([\w.-]{1,100}) (\d{1,14})(?: (\d{1,10}) (\d{1,10}))?$/;

/** Undefined when its sum or its shape is wrong. */
export function readLine(
  line: string,
): { name: string; millis: number; extent: Extent | undefined } | undefined {
  const end = line.lastIndexOf(" ");
  const text = line.slice(0, end);
  if (computeChecksum(text) !== line.slice(end + 1)) return undefined;
  const [, plus, name, millis, bytes, rows] = lineShape.exec(text) ?? [];
  if (name === undefined || (plus === "+") !== (bytes !== undefined)) return undefined;
  const extent = bytes === undefined ? undefined : { bytes: Number(bytes), rows: Number(rows) };
  return { name, millis: Number(millis), extent };
}
