// Segments with wrong names, as after files were swapped or renamed: found by their first bytes, and renamed back. A
// recycled file, too, begins with bytes of another segment; the order of numbers and the ledger distinguish it.

import type { JournalIo } from "../journal_io.ts";
import type { JournalSetup } from "../lane_kind.ts";
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

/** The suffix of a file that is being renamed; after a crash the next start goes on with it. */
const suffix = ".misnamed";
/** Longer than a head, and than the beginning of a native frame. */
const beginningBytes = 256;

interface MisnamedFile {
  from: string;
  to: string;
  /** True when only a wrong name explains the file's contents. */
  isCertain: boolean;
}

/** Moves misnamed files aside, for renameBack() to rename; returns their names before and after. */
export function findMisnamed(
  setup: JournalSetup,
  folder: string,
  names: readonly string[],
  expected: ReadonlyMap<string, Expected>,
): MisnamedFile[] {
  const found = names.flatMap((name) => findOne(setup, folder, name, expected) ?? []);
  // If a file's name certainly belongs to another file, the file itself is misnamed as well.
  for (let hasMore = true; hasMore;) {
    const claimed = new Set(found.filter(({ isCertain }) => isCertain).map(({ to }) => to));
    const next = found.filter(({ isCertain, from }) => !isCertain && claimed.has(from));
    for (const one of next) one.isCertain = true;
    hasMore = next.length > 0;
  }
  const misnamed = found.filter(({ isCertain }) => isCertain);
  for (const { from, to } of misnamed) {
    // A third file of that name would be overwritten: it keeps its name, as a copy.
    const aside = `${folder}/${to}${suffix}`;
    if (!setup.io.exists(aside)) setup.io.rename(`${folder}/${from}`, aside);
  }
  return misnamed;
}

/** Renames the files; returns the paths of those whose name belongs to another file. */
export function renameBack(io: JournalIo, folder: string): string[] {
  const copies: string[] = [];
  for (const name of io.list(folder).filter((one) => one.endsWith(suffix))) {
    const path = `${folder}/${name.slice(0, -suffix.length)}`;
    if (io.exists(path)) copies.push(`${folder}/${name}`);
    else io.rename(`${folder}/${name}`, path);
  }
  return copies;
}

function findOne(
  setup: JournalSetup,
  folder: string,
  name: string,
  expected: ReadonlyMap<string, Expected>,
): MisnamedFile | undefined {
  // Files that return from quarantine are not named after their segment.
  if (name.endsWith(returnedSuffix)) return undefined;
  const path = `${folder}/${name}`;
  const [beginning] = setup.io.readParts(path, [{ offset: 0, length: beginningBytes }]) as [Uint8Array];
  const named = readSegmentName(setup, name);
  const head = readSegmentHead(setup, beginning);
  if (head) return misnamed(name, head, true);
  const batch = nativeBatchAt(beginning, 0);
  if (batch === undefined) return undefined;
  const id = segmentOf(batch);
  // Where the number itself is damaged, no frame with that number is intact.
  if (named?.id === id || !readNativeFrame(setup.io.read(path), 0, id)) return undefined;
  const lanes = setup.lanes.filter(({ isNative }) => isNative);
  const lane = lanes.find((one) => expected.has(segmentName(one, id)));
  // A recycled file that begins with an earlier segment's frames has a later name.
  const isCertain = lane !== undefined || named === undefined || id > named.id;
  return misnamed(name, { id, lane: lane ?? named?.lane ?? lanes[0]! }, isCertain);
}

function misnamed(from: string, { lane, id }: KnownSegment, isCertain: boolean): MisnamedFile | undefined {
  const to = segmentName(lane, id);
  return to === from ? undefined : { from, to, isCertain };
}
