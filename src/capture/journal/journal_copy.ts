// A copy of a journal's folder, made while a process writes to it: everything that was acknowledged before the copy
// began and is not stored yet. A segment that is finished meanwhile is omitted, since ClickHouse has it.

import { join } from "node:path";
import { toCode } from "../../core/log.ts";
import type { JournalIo } from "./journal_io.ts";
import type { JournalSetup } from "./lane_kind.ts";
import { Ledger } from "./ledger.ts";
import { judgeSegment } from "./recovery/verdict.ts";
import { readSegmentMillis, returnedSuffix, type Segment } from "./segments/segment.ts";
import { readSegment } from "./segments/segment_reader.ts";

export interface JournalCopy {
  setup: JournalSetup;
  folder: string;
  /** Does not exist yet. */
  target: string;
  /** Copies one file and makes its folder. */
  copy(from: string, to: string): Promise<unknown>;
  /** How often a segment is copied anew when its copy ended in the middle of a write. */
  attemptsMax: number;
}

/** The marks of synced bytes are not copied: the copy's ledger has the same facts. */
export async function copyJournal(options: JournalCopy): Promise<void> {
  const { setup, folder, target, copy } = options;
  const { io } = setup;
  const identity = "identity.json";
  if (io.exists(join(folder, identity))) await copy(join(folder, identity), join(target, identity));
  const { finished, lastMillis } = new Ledger(setup, folder).read();
  const names = io.list(folder).filter((name) => name.endsWith(".segment") && !finished.includes(name));
  const waiting: Segment[] = [];
  for (const name of names.toSorted()) {
    const segment = await copySegment(options, name);
    if (segment) waiting.push(segment);
  }
  if (!io.exists(target)) return;
  const ledger = new Ledger(setup, target);
  ledger.restart(Math.max(lastMillis, ...waiting.map(({ id }) => readSegmentMillis(id))), waiting);
  await ledger.close();
  io.remove(join(target, "synced"));
}

/** Resolves to the entry of the copy's ledger; undefined for rows that return from quarantine, and if there is none. */
async function copySegment(options: JournalCopy, name: string): Promise<Segment | undefined> {
  const { setup, folder, target, copy, attemptsMax } = options;
  const { io } = setup;
  const [from, to] = [join(folder, name), join(target, name)];
  for (let attempt = 1; ; attempt++) {
    const expected = new Ledger(setup, folder).read().expected.get(name);
    const before = readInode(io, from);
    const copying = before === undefined ? Promise.resolve(false) : copy(from, to).then(() => true);
    const isCopied = await copying.catch((thrown: unknown) => {
      if (toCode(thrown) === "ENOENT") return false;
      throw thrown;
    });
    if (!isCopied || readInode(io, from) !== before) {
      // It was finished, and its file may hold another segment by now.
      io.remove(to);
      return undefined;
    }
    if (name.endsWith(returnedSuffix)) return undefined;
    const read = readSegment(setup, to, expected?.tail === "sealed" ? expected.bytes : undefined);
    if (!read) return undefined;
    const { segment } = read;
    const isDamaged = judgeSegment(read, expected).isDamaged;
    // The damage is the original's: a start on the copy finds and reports it.
    if (isDamaged && attempt === attemptsMax)
      return expected && { ...segment, bytes: expected.bytes, rows: expected.rows };
    if (!isDamaged && segment.rows > 0) {
      // The bytes that follow are half a write, or an earlier segment's.
      io.truncate(to, segment.bytes);
      return segment;
    }
    io.remove(to);
    if (!isDamaged) return undefined;
  }
}

function readInode(io: JournalIo, path: string): number | undefined {
  return io.exists(path) ? io.stat(path).ino : undefined;
}
