// Segments that grow no more: those that wait for the flush, and the files of those that are finished.

import { basename } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { byLane, type JournalSetup, type LaneKind } from "../lane_kind.ts";
import { journalLimits } from "../limits.ts";
import type { Segment } from "./segment.ts";

/** The sealed segments of each lane, from the oldest, until they are flushed; and who waits for that. */
export class SealedSegments {
  readonly lanes: ReadonlyMap<LaneKind, Segment[]>;
  /** The paths of all segments whose files exist. */
  readonly paths = new Set<string>();
  readonly #waits = new Map<bigint, PromiseWithResolvers<void>>();

  constructor(setup: JournalSetup) {
    this.lanes = byLane(setup, () => []);
  }

  add(segment: Segment): void {
    this.paths.add(segment.path);
    this.lanes.get(segment.lane)!.push(segment);
  }

  /** Adds segments of any age. */
  addFound(segments: readonly Segment[]): void {
    for (const segment of segments) this.add(segment);
    for (const lane of this.lanes.values()) lane.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Removes a stored segment from its lane; its path stays known while its file exists. */
  remove(segment: Segment): void {
    const queue = this.lanes.get(segment.lane)!;
    const at = queue.indexOf(segment);
    if (at >= 0) queue.splice(at, 1);
    this.#waits.get(segment.id)?.resolve();
    this.#waits.delete(segment.id);
  }

  /** Resolves when the segment is stored; it may still grow now. */
  stored({ id }: Segment): Promise<void> {
    return this.#waits.getOrInsertComputed(id, () => Promise.withResolvers<void>()).promise;
  }
}

const suffix = ".spare";

/**
 * Files of finished segments, kept to be overwritten: pages that exist cost far less than new ones. Their old frames
 * are recognized by their batch numbers.
 */
export class SegmentRecycler {
  readonly #setup: JournalSetup;
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #files: ReadonlyMap<LaneKind, { path: string; bytes: number }[]>;
  readonly #clock: Clock;
  /** When a lane last retained or acquired a file. */
  readonly #usedAt = new Map<LaneKind, number>();
  #bytes = 0;

  /** Keeps at most a share of `bytesMax`, and at most journalLimits.recycledEachMax files for each lane. */
  constructor(options: JournalSetup & { folder: string; bytesMax: number; clock: Clock }) {
    this.#setup = options;
    this.#files = byLane(options, () => []);
    this.#folder = options.folder;
    this.#bytesMax = options.bytesMax / journalLimits.recycledFilesDivisor;
    this.#clock = options.clock;
  }

  /** Adopts the files of an earlier process; deletes them when the disk is nearly full (`isTight`). */
  open(isTight: boolean): void {
    const { io, lanes } = this.#setup;
    for (const name of io.list(this.#folder).filter((text) => text.endsWith(suffix))) {
      const path = `${this.#folder}/${name}`;
      const lane = lanes.find((laneKind) => name.startsWith(`${laneKind.name}-`));
      const bytes = io.stat(path).size;
      if (lane && !isTight && this.#isWanted(lane, bytes)) this.#add(lane, path, bytes);
      else io.remove(path);
    }
  }

  /** Renames a finished segment's file and keeps it, or deletes it; an earlier attempt may have done so. */
  async retain({ lane, path, bytes, isBorrowed, isRecovered }: Segment, isTight: boolean): Promise<void> {
    const { io } = this.#setup;
    if (!io.exists(path)) return;
    if (isBorrowed || isRecovered || isTight || !this.#isWanted(lane, bytes))
      return await io.removeSoon(path);
    const sparePath = `${this.#folder}/${lane.name}-${basename(path)}${suffix}`;
    await io.renameSoon(path, sparePath);
    // Another segment of the lane may have been kept meanwhile.
    if (this.#isWanted(lane, bytes)) this.#add(lane, sparePath, bytes);
    else await io.removeSoon(sparePath);
  }

  acquire(lane: LaneKind): string | undefined {
    const file = this.#files.get(lane)!.pop();
    if (!file) return undefined;
    this.#bytes -= file.bytes;
    this.#usedAt.set(lane, this.#clock.elapsed());
    return file.path;
  }

  /** Deletes files that no lane has acquired for long; all of them when the disk is nearly full (`isTight`). */
  async poll(isTight: boolean): Promise<void> {
    if (this.#bytes === 0) return;
    const now = this.#clock.elapsed();
    for (const lane of this.#setup.lanes) {
      const isIdle = now - (this.#usedAt.get(lane) ?? now) >= journalLimits.recycledIdleMs;
      if (!isTight && !isIdle) continue;
      for (let path = this.acquire(lane); path !== undefined; path = this.acquire(lane)) {
        await this.#setup.io.removeSoon(path).catch(() => {});
      }
    }
  }

  #isWanted(lane: LaneKind, bytes: number): boolean {
    const isFull = this.#files.get(lane)!.length >= journalLimits.recycledEachMax;
    if (!lane.isRecycled || isFull || bytes < journalLimits.recycledBytesMin) return false;
    return this.#bytes + bytes <= this.#bytesMax;
  }

  #add(lane: LaneKind, path: string, bytes: number): void {
    this.#files.get(lane)!.push({ path, bytes });
    this.#bytes += bytes;
    this.#usedAt.set(lane, this.#clock.elapsed());
  }
}
