// Which projects' rows a segment of an earlier process holds, read from the beginnings of its frames.

import { closeSync, openSync, readSync } from "node:fs";
import { fixedColumnOf } from "../../../storage/native/native_cut.ts";
import type { Use } from "../lane_usage.ts";
import type { Frame, Segment } from "../segments/segment.ts";

/** Bytes of a block before the column of projects, besides 16 for each row's uuid. */
const headBytes = 512;

/**
 * A frame's bytes are divided by its rows. Changes are not counted: they are at a block's end, and a start flushes
 * these segments first. A frame that cannot be read counts for no project.
 */
export function foundUsage({ path, lane, batches }: Segment): Map<number, Use> {
  const uses = new Map<number, Use>();
  if (lane === "merges" || lane === "warnings") return uses;
  const file = openSync(path, "r");
  try {
    for (const { frames } of batches) for (const frame of frames) addFrame(uses, file, frame);
  } finally {
    closeSync(file);
  }
  return uses;
}

function addFrame(uses: Map<number, Use>, file: number, { offset, length, rows }: Frame): void {
  const head = Buffer.alloc(Math.min(length, headBytes + rows * 20));
  readSync(file, head, 0, head.length, offset);
  const projects = projectsOf(head);
  if (!projects) return;
  const counts = new Map<number, number>();
  for (let at = 0; at + 4 <= projects.length; at += 4) {
    const project_id = projects.readUInt32LE(at);
    counts.set(project_id, (counts.get(project_id) ?? 0) + 1);
  }
  for (const [project_id, count] of counts) {
    const use = uses.get(project_id) ?? { bytes: 0, changes: 0 };
    use.bytes += Math.round((length * count) / rows);
    uses.set(project_id, use);
  }
}

function projectsOf(head: Uint8Array): Buffer | undefined {
  try {
    const column = fixedColumnOf(head, "project_id");
    return column && Buffer.from(column.buffer, column.byteOffset, column.length);
  } catch {
    return undefined;
  }
}
