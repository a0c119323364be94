// Marks: how far each growing segment is synced, written after every sync, so that recovery can distinguish
// acknowledged rows from others. The file itself is not synced: it is exact after a crash of the process, and a lower
// bound after a crash of the machine. Marks are written through a shared mapping of the file where that is safe: a
// system call for each commit was 4 % of the CPU of short requests. FORMAT.md has the offsets of head and slots.

import { crc32 } from "node:zlib";
import { type MarksFile, writeDurablyNow } from "../journal_io.ts";
import type { JournalSetup, LaneKind } from "../lane_kind.ts";
import { type Segment, segmentName } from "./segment.ts";

/** The least that a segment must contain: so many rows in its first so many bytes. */
export interface Extent {
  bytes: number;
  rows: number;
}

const magic = "SLUICEM1";
const headSumAt = 44;
const slotBytes = 64;
const slotSumAt = 20;

interface Mark extends Extent {
  id: bigint;
  lane: LaneKind;
}

export class SyncedMarks {
  readonly #setup: JournalSetup;
  readonly #path: string;
  readonly #bootId: string;
  readonly #fileBytes: number;
  /** Keyed by the number of a lane, its two slots: their segments, and which was written last. */
  readonly #lanes: {
    ids: [bigint, bigint];
    newest: 0 | 1;
    lane: number;
  }[];
  readonly #slot = new Uint8Array(slotSumAt + 4);
  readonly #view = new DataView(this.#slot.buffer);
  readonly #summed = this.#slot.subarray(0, slotSumAt);
  #file: MarksFile | undefined;
  /** The mapped file, where marks may be written to memory. */
  #mapped: Uint8Array | undefined;

  constructor(setup: JournalSetup, folder: string) {
    this.#setup = setup;
    this.#path = `${folder}/synced`;
    this.#bootId = setup.io.bootId() ?? "";
    this.#fileBytes = slotBytes * (1 + 2 * setup.lanes.length);
    this.#lanes = setup.lanes.map((_, lane) => ({ ids: [0n, 0n], newest: 0, lane }));
  }

  /**
   * The marks of an earlier process, by the segment's file name; none when there is no file. They are exact when the
   * system has not been restarted since: the last mark was not lost.
   */
  read() {
    const extents = new Map<string, Mark>();
    const { io, lanes } = this.#setup;
    if (!io.exists(this.#path)) return { extents, isExact: false, unreadable: 0, exists: false };
    const bytes = io.read(this.#path);
    const whole = new Uint8Array(this.#fileBytes);
    whole.set(bytes.subarray(0, this.#fileBytes));
    const head = this.#head();
    const isHead = Buffer.compare(whole.subarray(0, slotBytes), head) === 0;
    let unreadable = isHead || isSummed(whole.subarray(0, slotBytes), headSumAt) ? 0 : 1;
    for (let at = slotBytes; at < this.#fileBytes; at += slotBytes) {
      const slot = whole.subarray(at, at + slotBytes);
      if (slot.every((byte) => byte === 0) && bytes.length >= at + slotBytes) continue;
      const extent = readSlot(lanes, slot);
      if (!extent) {
        unreadable++;
        continue;
      }
      extents.set(segmentName(extent.lane, extent.id), extent);
      // If there is no space for a new file, this one stays in use.
      const [slots, side] = [
        this.#lanes[lanes.indexOf(extent.lane)]!,
        (at / slotBytes - 1) % 2 === 0 ? 0 : 1,
      ] as const;
      slots.ids[side] = extent.id;
      if (extent.id >= slots.ids[slots.newest]) slots.newest = side;
    }
    return { extents, isExact: isHead && this.#bootId !== "", unreadable, exists: true };
  }

  /** Deletes all marks, durably, and opens the file. */
  restart(): void {
    for (const slots of this.#lanes) slots.ids = [0n, 0n];
    const whole = new Uint8Array(this.#fileBytes);
    whole.set(this.#head());
    // An empty file, as a kill could leave it, would pass for a damaged one.
    const { io } = this.#setup;
    if (!io.exists(this.#path)) writeDurablyNow(io, this.#path, whole);
    const file = this.open();
    for (let at = 0; at < whole.length;) at += file.write(whole, at, at);
    file.sync();
    // Only now its page has space on the disk, so that writes to memory cannot fail.
    this.#mapped = file.map();
  }

  open(): MarksFile {
    this.close();
    return (this.#file = this.#setup.io.openMarks(this.#path));
  }

  /** Marks the segment's first `bytes` as synced; between the sync and the acknowledgement. */
  write({ lane, id, bytes, rows }: Segment): void {
    const slots = this.#lanes[this.#setup.lanes.indexOf(lane)]!;
    if (slots.ids[slots.newest] !== id) {
      slots.newest = slots.newest === 0 ? 1 : 0;
      slots.ids[slots.newest] = id;
    }
    this.#view.setBigUint64(0, id, true);
    this.#view.setUint32(8, bytes, true);
    this.#view.setUint32(12, rows, true);
    this.#view.setUint32(16, slots.lane, true);
    this.#view.setUint32(slotSumAt, crc32(this.#summed), true);
    this.#write(this.#slot, slotBytes * (1 + 2 * slots.lane + slots.newest));
  }

  clear({ lane, id }: Segment): void {
    const slots = this.#lanes[this.#setup.lanes.indexOf(lane)]!;
    for (const side of [0, 1] as const) {
      if (slots.ids[side] === id) this.#write(noSlot, slotBytes * (1 + 2 * slots.lane + side));
    }
  }

  sync(): void {
    this.#file?.sync();
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
    this.#mapped = undefined;
  }

  #write(slot: Uint8Array, at: number): void {
    if (this.#mapped) {
      this.#mapped.set(slot, at);
      return;
    }
    try {
      this.#file?.write(slot, 0, at);
    } catch {
      // An old mark must not pass for the last one.
      this.close();
      this.#setup.io.remove(this.#path);
    }
  }

  #head(): Uint8Array {
    const head = new Uint8Array(slotBytes);
    head.set(Buffer.from(magic + this.#bootId.slice(0, headSumAt - magic.length), "latin1"));
    new DataView(head.buffer).setUint32(headSumAt, crc32(head.subarray(0, headSumAt)), true);
    return head;
  }
}

const noSlot = new Uint8Array(slotSumAt + 4);

function isSummed(bytes: Uint8Array, sumAt: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return crc32(bytes.subarray(0, sumAt)) === view.getUint32(sumAt, true);
}

function readSlot(lanes: readonly LaneKind[], slot: Uint8Array): Mark | undefined {
  const view = new DataView(slot.buffer, slot.byteOffset, slot.byteLength);
  const lane = lanes[view.getUint32(16, true)];
  if (!lane || !isSummed(slot, slotSumAt)) return undefined;
  const [bytes, rows] = [view.getUint32(8, true), view.getUint32(12, true)];
  return { id: view.getBigUint64(0, true), lane, bytes, rows };
}
