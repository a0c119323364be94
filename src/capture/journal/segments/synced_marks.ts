// Marks: how far each growing segment is synced, noted after every sync, so that recovery can tell acknowledged rows
// from others. The file itself is not synced: after a crash of the process it is exact, and after a crash of the
// machine it says the least that was synced. Notes are written through a shared mapping of the file where that is safe:
// a system call for each commit was 4 % of the CPU of short requests. FORMAT.md has the offsets of head and slots.

import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { crc32 } from "node:zlib";
import { bootId } from "../../../core/machine.ts";
import { writeDurablyNow } from "./files.ts";
import { type LaneName, type Segment, byLane, lanes, segmentName } from "./segment.ts";

/** What a segment must contain: so many rows in its first so many bytes. */
export interface Extent {
  bytes: number;
  rows: number;
}

const magic = "SLUICEM1";
const headSumAt = 44;
const slotBytes = 64;
const slotSumAt = 20;
const fileBytes = slotBytes * (1 + 2 * lanes.length);

/**
 * Types of file systems, as statfs(2) numbers them, that write a page in place once it has its room: ext2 to ext4, XFS,
 * tmpfs. One that takes new room for every write would end the process (SIGBUS) when the disk is full.
 */
const inPlaceTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

/** A lane's two slots: their segments, and which was written last. */
interface SlotPlace {
  ids: [bigint, bigint];
  turn: 0 | 1;
  lane: number;
}

interface ReadMarks {
  /** By the segment's file name. */
  extents: Map<string, Extent & { id: bigint; lane: LaneName }>;
  /** True when the system has not been restarted since: the last mark is there. */
  exact: boolean;
  unreadable: number;
  there: boolean;
}

export class SyncedMarks {
  readonly #path: string;
  readonly #bootId: string;
  readonly #places: Record<LaneName, SlotPlace>;
  readonly #slot = new Uint8Array(slotSumAt + 4);
  readonly #view = new DataView(this.#slot.buffer);
  readonly #summed = this.#slot.subarray(0, slotSumAt);
  #file: number | undefined;
  /** The file, where notes may be written to memory. */
  #mapped: Uint8Array | undefined;

  constructor(folder: string, boot = bootId()) {
    this.#path = `${folder}/synced`;
    this.#bootId = boot ?? "";
    this.#places = byLane((name) => ({ ids: [0n, 0n], turn: 0, lane: lanes.indexOf(name) }));
  }

  /** The marks of an earlier process; none when there is no file. */
  read(): ReadMarks {
    const extents: ReadMarks["extents"] = new Map();
    if (!existsSync(this.#path)) return { extents, exact: false, unreadable: 0, there: false };
    const bytes = new Uint8Array(readFileSync(this.#path));
    const whole = new Uint8Array(fileBytes);
    whole.set(bytes.subarray(0, fileBytes));
    const head = this.#head();
    const isHead = Buffer.compare(whole.subarray(0, slotBytes), head) === 0;
    let unreadable = isHead || isSummed(whole.subarray(0, slotBytes), headSumAt) ? 0 : 1;
    for (let at = slotBytes; at < fileBytes; at += slotBytes) {
      const slot = whole.subarray(at, at + slotBytes);
      if (slot.every((byte) => byte === 0) && bytes.length >= at + slotBytes) continue;
      const extent = readSlot(slot);
      if (!extent) {
        unreadable++;
        continue;
      }
      extents.set(segmentName(extent.lane, extent.id), extent);
      // Where no room is for a new file, this one goes on.
      const [place, turn] = [this.#places[extent.lane], (at / slotBytes - 1) % 2 === 0 ? 0 : 1] as const;
      place.ids[turn] = extent.id;
      if (extent.id >= place.ids[place.turn]) place.turn = turn;
    }
    return { extents, exact: isHead && this.#bootId !== "", unreadable, there: true };
  }

  /** Deletes all marks, durably, and opens the file. */
  restart(): void {
    for (const place of Object.values(this.#places)) place.ids = [0n, 0n];
    const whole = new Uint8Array(fileBytes);
    whole.set(this.#head());
    // An empty file, as a kill could leave it, would pass for a damaged one.
    if (!existsSync(this.#path)) writeDurablyNow(this.#path, whole);
    const file = this.open();
    for (let at = 0; at < fileBytes;) at += writeSync(file, whole, at, fileBytes - at, at);
    fdatasyncSync(file);
    // Its page has its room now.
    if (inPlaceTypes.has(statfsSync(this.#path).type)) this.#mapped = Bun.mmap(this.#path, { shared: true });
  }

  /** Opens the file; its marks stay. */
  open(): number {
    this.close();
    // Without O_TRUNC: the file must not be empty in between.
    this.#file = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return this.#file;
  }

  /** Notes that the segment's first `bytes` are synced; between the sync and the acknowledgement. */
  note({ lane: name, id, bytes, rows }: Segment): void {
    const place = this.#places[name];
    if (place.ids[place.turn] !== id) {
      place.turn = place.turn === 0 ? 1 : 0;
      place.ids[place.turn] = id;
    }
    this.#view.setBigUint64(0, id, true);
    this.#view.setUint32(8, bytes, true);
    this.#view.setUint32(12, rows, true);
    this.#view.setUint32(16, place.lane, true);
    this.#view.setUint32(slotSumAt, crc32(this.#summed), true);
    this.#write(this.#slot, slotBytes * (1 + 2 * place.lane + place.turn));
  }

  forget({ lane: name, id }: Segment): void {
    const place = this.#places[name];
    for (const turn of [0, 1] as const) {
      if (place.ids[turn] === id) this.#write(noSlot, slotBytes * (1 + 2 * place.lane + turn));
    }
  }

  sync(): void {
    if (this.#file !== undefined) fdatasyncSync(this.#file);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#mapped = undefined;
  }

  #write(slot: Uint8Array, at: number): void {
    if (this.#mapped) {
      this.#mapped.set(slot, at);
      return;
    }
    if (this.#file === undefined) return;
    try {
      writeSync(this.#file, slot, 0, slot.length, at);
    } catch {
      // An old mark must not pass for the last one.
      this.close();
      rmSync(this.#path, { force: true });
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

function readSlot(slot: Uint8Array): (Extent & { id: bigint; lane: LaneName }) | undefined {
  const view = new DataView(slot.buffer, slot.byteOffset, slot.byteLength);
  const lane = lanes[view.getUint32(16, true)];
  if (!lane || !isSummed(slot, slotSumAt)) return undefined;
  const [bytes, rows] = [view.getUint32(8, true), view.getUint32(12, true)];
  return { id: view.getBigUint64(0, true), lane, bytes, rows };
}
