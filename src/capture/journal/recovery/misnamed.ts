// Segments under each other's names: found by what their first bytes say, and given their own names back. Tells them
// from files that are to be written over, which begin with what an earlier segment left.

import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, renameSync } from "node:fs";
import type { Expected } from "../ledger.ts";
import { nativeBatchAt, readNativeFrame } from "../segments/native_frame.ts";
import {
  type KnownSegment,
  readSegmentHead,
  readSegmentName,
  returnedSuffix,
  segmentName,
} from "../segments/segment.ts";

/** How a file is called between two names: a crash in between leaves it to the next start. */
const suffix = ".misnamed";
/** More than any head, or the beginning of a first frame, takes. */
const beginningBytes = 256;

interface Named {
  from: string;
  to: string;
}

interface Found extends Named {
  /** True when nothing but another name explains what it holds. */
  certain: boolean;
}

/** Takes away the names that are others', for takeBack(); returns what was called what, and will be. */
export function findMisnamed(
  folder: string,
  names: readonly string[],
  expected: ReadonlyMap<string, Expected>,
): Named[] {
  const found = names.flatMap((name) => look(folder, name, expected) ?? []);
  // The name of one that is certainly another's is held by a file that has a name of its own elsewhere.
  for (let more = true; more;) {
    const claimed = new Set(found.filter(({ certain }) => certain).map(({ to }) => to));
    const next = found.filter(({ certain, from }) => !certain && claimed.has(from));
    for (const one of next) one.certain = true;
    more = next.length > 0;
  }
  const misnamed = found.filter(({ certain }) => certain);
  for (const { from, to } of misnamed) {
    // A third one of that name would be lost beneath this one: it keeps its name and is a copy.
    if (!existsSync(`${folder}/${to}${suffix}`)) renameSync(`${folder}/${from}`, `${folder}/${to}${suffix}`);
  }
  return misnamed;
}

/** Gives files their own names; returns the paths of those whose name another one has rightly. */
export function takeBack(folder: string): string[] {
  const copies: string[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith(suffix))) {
    const own = `${folder}/${name.slice(0, -suffix.length)}`;
    if (existsSync(own)) copies.push(`${folder}/${name}`);
    else renameSync(`${folder}/${name}`, own);
  }
  return copies;
}

function look(folder: string, name: string, expected: ReadonlyMap<string, Expected>): Found | undefined {
  // Rows that were handed back have names of their own.
  if (name.endsWith(returnedSuffix)) return undefined;
  const beginning = readBeginning(`${folder}/${name}`);
  const named = readSegmentName(name);
  const head = readSegmentHead(beginning);
  if (head?.summed) return misnamed(name, head, true);
  const batch = head ? undefined : nativeBatchAt(beginning, 0);
  if (batch === undefined) return undefined;
  const id = batch >> 11n;
  if (named?.id === id || !beginsSound(`${folder}/${name}`, id)) return undefined;
  const lanes = ["live", "historical"] as const;
  const lane = lanes.find((one) => expected.has(segmentName(one, id)));
  // A file that was written over and begins with an earlier segment's frames has the later name.
  const certain = lane !== undefined || named === undefined || id > named.id;
  return misnamed(name, { id, lane: lane ?? named?.lane ?? "live" }, certain);
}

/** A number that was damaged is nobody's. */
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
