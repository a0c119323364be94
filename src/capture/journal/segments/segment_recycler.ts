// Files of segments that are done with, kept to be written over: pages that are there already cost far less than
// fresh ones. Never holds anything that is still needed; what is in them is told apart by its segment's number.

import { readdirSync, rmSync } from "node:fs";
import { rename, unlink } from "node:fs/promises";
import { basename } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { journalLimits } from "../limits.ts";
import { type LaneName, type Segment, byLane, lanes } from "./segment.ts";

const suffix = ".spare";

export class SegmentRecycler {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #files = byLane<{ path: string; bytes: number }[]>(() => []);
  readonly #clock: Clock;
  /** When a lane kept or took one last. */
  readonly #usedAt = new Map<LaneName, number>();
  #bytes = 0;

  /** Keeps files of `bytesMax` bytes in all, or of journalLimits.recycledEachMax for each lane, whichever is less. */
  constructor(folder: string, bytesMax: number, clock: Clock) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#clock = clock;
  }

  /** Takes in what an earlier process kept; nothing where there is little room (`tight`). */
  open(tight = false): void {
    for (const name of readdirSync(this.#folder).filter((one) => one.endsWith(suffix))) {
      const path = `${this.#folder}/${name}`;
      const lane = lanes.find((one) => name.startsWith(`${one}-`));
      const bytes = Bun.file(path).size;
      if (lane && !tight && this.#wants(lane, bytes)) this.#add(lane, path, bytes);
      else rmSync(path, { force: true });
    }
  }

  /** Takes a finished segment's file away from its name: for later, or for good when there is little room. */
  async keep({ lane, path, bytes, borrowed, recovered }: Segment, tight = false): Promise<void> {
    if (borrowed || recovered || tight || !this.#wants(lane, bytes)) return await unlink(path);
    const spare = `${this.#folder}/${lane}-${basename(path)}${suffix}`;
    await rename(path, spare);
    // Another segment of the lane may have ended meanwhile.
    if (this.#wants(lane, bytes)) this.#add(lane, spare, bytes);
    else await unlink(spare);
  }

  /** A file to be written over and renamed, if there is one. */
  take(lane: LaneName): string | undefined {
    const file = this.#files[lane].pop();
    if (!file) return undefined;
    this.#bytes -= file.bytes;
    this.#usedAt.set(lane, this.#clock.elapsed());
    return file.path;
  }

  /** Gives back what no lane wanted for long; all of it when there is little room (`tight`). */
  async look(tight: boolean): Promise<void> {
    if (this.#bytes === 0) return;
    const now = this.#clock.elapsed();
    for (const lane of lanes) {
      const idle = now - (this.#usedAt.get(lane) ?? now) >= journalLimits.recycledIdleMs;
      if (!tight && !idle) continue;
      for (let path = this.take(lane); path !== undefined; path = this.take(lane)) {
        await unlink(path).catch(() => {});
      }
    }
  }

  #wants(lane: LaneName, bytes: number): boolean {
    // A recording may be deleted for good: nothing of it may rest here until another comes.
    if (lane === "recordings") return false;
    if (bytes < journalLimits.recycledBytesMin || this.#files[lane].length >= journalLimits.recycledEachMax)
      return false;
    return this.#bytes + bytes <= this.#bytesMax;
  }

  #add(lane: LaneName, path: string, bytes: number): void {
    this.#files[lane].push({ path, bytes });
    this.#bytes += bytes;
    this.#usedAt.set(lane, this.#clock.elapsed());
  }
}
