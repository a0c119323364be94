// Segments under wrong names, as after files were swapped or renamed: found by their first bytes, and renamed back. A
// recycled file also begins with bytes of another segment; it is told apart by the order of numbers and by the ledger.

import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, renameSync } from "node:fs";
import type { Expected } from "../ledger.ts";
import { nativeBatchAt, readNativeFrame } from "../segments/native_frame.ts";
import {
  type KnownSegment,
  readSegmentHead,
  readSegmentName,
  returnedSuffix,
  segmentName,
  segmentOf,
} from "../segments/segment.ts";

/** The end of a file's name while it is renamed; after a crash the next start goes on with it. */
const suffix = ".misnamed";
/** Longer than a head, and than the beginning of a native frame. */
const beginningBytes = 256;

interface Found {
  from: string;
  to: string;
  /** True when only a wrong name explains what the file holds. */
  certain: boolean;
}

/** Moves misnamed files aside, for renameBack() to rename; returns their names before and after. */
export function findMisnamed(
  folder: string,
  names: readonly string[],
  expected: ReadonlyMap<string, Expected>,
): Found[] {
  const found = names.flatMap((name) => look(folder, name, expected) ?? []);
  // If a file's name certainly belongs to another file, the file itself is misnamed as well.
  for (let more = true; more;) {
    const claimed = new Set(found.filter(({ certain }) => certain).map(({ to }) => to));
    const next = found.filter(({ certain, from }) => !certain && claimed.has(from));
    for (const one of next) one.certain = true;
    more = next.length > 0;
  }
  const misnamed = found.filter(({ certain }) => certain);
  for (const { from, to } of misnamed) {
    // A third file of that name would be overwritten: it keeps its name, as a copy.
    if (!existsSync(`${folder}/${to}${suffix}`)) renameSync(`${folder}/${from}`, `${folder}/${to}${suffix}`);
  }
  return misnamed;
}

/** Renames the files; returns the paths of those whose name is taken by a file that has it rightly. */
export function renameBack(folder: string): string[] {
  const copies: string[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith(suffix))) {
    const own = `${folder}/${name.slice(0, -suffix.length)}`;
    if (existsSync(own)) copies.push(`${folder}/${name}`);
    else renameSync(`${folder}/${name}`, own);
  }
  return copies;
}

function look(folder: string, name: string, expected: ReadonlyMap<string, Expected>): Found | undefined {
  // Files that come back from quarantine are not named after their segment.
  if (name.endsWith(returnedSuffix)) return undefined;
  const beginning = readBeginning(`${folder}/${name}`);
  const named = readSegmentName(name);
  const head = readSegmentHead(beginning);
  if (head) return misnamed(name, head, true);
  const batch = nativeBatchAt(beginning, 0);
  if (batch === undefined) return undefined;
  const id = segmentOf(batch);
  if (named?.id === id || !beginsSound(`${folder}/${name}`, id)) return undefined;
  const lanes = ["live", "historical"] as const;
  const lane = lanes.find((one) => expected.has(segmentName(one, id)));
  // A recycled file that begins with an earlier segment's frames has a later name.
  const certain = lane !== undefined || named === undefined || id > named.id;
  return misnamed(name, { id, lane: lane ?? named?.lane ?? "live" }, certain);
}

/** Whether the number is that of a sound frame, and not damaged itself. */
function beginsSound(path: string, id: bigint): boolean {
  return readNativeFrame(new Uint8Array(readFileSync(path)), 0, id) !== undefined;
}

function misnamed(from: string, { lane, id }: KnownSegment, certain: boolean): Found | undefined {
  const to = segmentName(lane, id);
  return to === from ? undefined : { from, to, certain };
}

function readBeginning(path: string): Uint8Array {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(beginningBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, beginningBytes, 0));
  } finally {
    closeSync(file);
  }
}
