// Bundles of an archive: what was stored since the one before, compressed. A line of JSON, then bytes of segments.

import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { captureSetup } from "../../../capture/capture_journal.ts";
import { readSegmentName } from "../../../capture/journal/segments/segment.ts";
import type { ArchivedId } from "../../../persons/deletion/archive_store.ts";
import { backupLimits } from "../limits.ts";

/** Bytes of a segment's file; none of them: the segment, or the rest of it, is in no bundle. */
interface Piece {
  name: string;
  offset: number;
  bytes: number;
}

export interface BundleHead {
  /** The bundle before; for the first one the beginning of a name, with the time since when nothing is missing. */
  previous: string;
  pieces: Piece[];
  orders: ArchivedId[];
  /** Deleted projects. */
  gone: number[];
  /** The sequences of Postgres, and their last values: no number is used for two things. */
  sequences: Record<string, string>;
}

export async function packBundle(head: BundleHead, contents: readonly Uint8Array[]): Promise<Uint8Array> {
  const text = `${JSON.stringify(head)}\n`;
  return await promisify(zstdCompress)(Buffer.concat([Buffer.from(text), ...contents]));
}

/** @throws any error when it is none. */
export async function unpackBundle(packed: Uint8Array) {
  const bytes = await promisify(zstdDecompress)(packed, { maxOutputLength: backupLimits.bundleBytesMax });
  const end = bytes.indexOf("\n");
  const head = JSON.parse(bytes.toString("utf8", 0, end)) as BundleHead;
  if (!Array.isArray(head.orders) || !Array.isArray(head.gone))
    throw new Error("it has no lists of what is deleted");
  let at = end + 1;
  const pieces = head.pieces.map(({ name, offset, bytes: length }) => {
    const known = readSegmentName(captureSetup, name);
    const isWithin = offset >= 0 && length >= 0 && offset + length <= backupLimits.segmentBytesMax;
    if (!known || !isWithin) throw new Error(`${name} is no segment`);
    return { name, id: known.id, offset, content: bytes.subarray(at, (at += length)) };
  });
  return { ...head, pieces };
}

/** How a bundle's name begins: with its time, in ms. */
export function timePrefix(at: number): string {
  return `${String(at).padStart(14, "0")}-`;
}

/** A name with the time and the hash. */
export function bundleName(at: number, packed: Uint8Array): string {
  return timePrefix(at) + Bun.SHA256.hash(packed, "hex");
}

/** The time in a name; undefined for a file that is no bundle. @param partial whether half a one is meant, too. */
export function readBundleTime(name: string, partial = false): number | undefined {
  const [, at, ending] = /^(\d{14})-[0-9a-f]{64}(\.partial)?$/.exec(name) ?? [];
  return at === undefined || (ending && !partial) ? undefined : Number(at);
}
