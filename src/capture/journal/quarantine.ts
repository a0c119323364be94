// Quarantine: rows ClickHouse refuses for good, each in a file of its own beside the reason. Blocks nothing
// behind it.

import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { reasonOf } from "../../core/log.ts";
import { Pieces } from "../../storage/native/native_pieces.ts";
import { writeDurably } from "./segments/files.ts";
import { writeFrame } from "./segments/frame.ts";
import { type LaneName, returnedSuffix, segmentHead } from "./segments/segment.ts";
import { readSegment } from "./segments/segment_reader.ts";

export interface Quarantined {
  /** What `journal retry|discard` takes: the batch number in hex. */
  id: string;
  lane: LaneName;
  /** Of the lane's table. */
  partition: number;
  reason: string;
  /** ISO 8601, when it was set aside. */
  at: string;
}

/** One refused row: a Native block of one row, and where it belongs. */
export interface Refused {
  batch: bigint;
  lane: LaneName;
  partition: number;
  oldest: number;
  native: Uint8Array;
  reason: string;
}

export class Quarantine {
  readonly #folder: string;
  readonly #journalFolder: string;

  constructor(dataDir: string) {
    this.#folder = `${dataDir}/quarantine`;
    this.#journalFolder = `${dataDir}/journal`;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  get count(): number {
    return this.#ids().length;
  }

  /** Durable when it resolves; the reason first, so that no row is ever there without one. */
  async add(refused: Refused, now: Date): Promise<void> {
    const id = refused.batch.toString(16).padStart(16, "0");
    const { lane, partition, reason } = refused;
    const note: Quarantined = { id, lane, partition, reason, at: now.toISOString() };
    await writeDurably(`${this.#folder}/${id}.json`, JSON.stringify(note));
    const out = new Pieces(256);
    out.raw(segmentHead(lane, refused.batch >> 11n));
    const head = { batch: refused.batch, partition, rows: 1, oldest: refused.oldest, synced: 0, before: 0 };
    await writeFrame(out, head, (payload) => payload.raw(refused.native));
    await writeDurably(`${this.#folder}/${id}.segment`, Buffer.concat(out.list()));
  }

  /** A note that cannot be read says so in its reason. */
  list(): Quarantined[] {
    return this.#ids().map((id) => readNote(`${this.#folder}/${id}.json`, id));
  }

  /** The row's Native bytes as text an operator can search; undefined when there is no such id. */
  peek(id: string): Uint8Array | undefined {
    if (!this.#ids().includes(id)) return undefined;
    const path = `${this.#folder}/${id}.segment`;
    const frame = readSegment(path)?.segment.batches[0]?.frames[0];
    if (!frame) return undefined;
    return new Uint8Array(readFileSync(path)).subarray(frame.offset, frame.offset + frame.length);
  }

  /**
   * Hands rows back to the journal: the server takes them within seconds, or at its next start. Returns how
   * many.
   */
  retry(id: string | "all"): number {
    return this.#each(id, (one) => {
      mkdirSync(this.#journalFolder, { recursive: true, mode: 0o700 });
      renameSync(`${this.#folder}/${one}.segment`, `${this.#journalFolder}/${one}${returnedSuffix}`);
      rmSync(`${this.#folder}/${one}.json`, { force: true });
    });
  }

  /** Removes rows for good. Returns how many. */
  discard(id: string | "all"): number {
    return this.#each(id, (one) => {
      rmSync(`${this.#folder}/${one}.segment`, { force: true });
      rmSync(`${this.#folder}/${one}.json`, { force: true });
    });
  }

  #each(id: string | "all", act: (id: string) => void): number {
    const chosen = id === "all" ? this.#ids() : this.#ids().filter((one) => one === id);
    for (const one of chosen) act(one);
    return chosen.length;
  }

  #ids(): string[] {
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith(".segment"))
      .map((name) => name.slice(0, -".segment".length))
      .toSorted();
  }
}

/**
 * Earlier versions said `month`: their tables of events were parted by that. A row whose note cannot be read is there
 * as before, and can be handed back or discarded: its file says where it belongs.
 */
function readNote(path: string, id: string): Quarantined {
  try {
    const { month = 0, ...note } = JSON.parse(readFileSync(path, "utf8")) as Quarantined & { month?: number };
    if (note.id !== id) throw new Error("it is another row's");
    return { ...note, partition: note.partition ?? month };
  } catch (thrown) {
    const reason = `the note ${path} cannot be read: ${reasonOf(thrown)}`;
    return {
      id,
      lane: "live",
      partition: 0,
      reason,
      at: statSync(path.replace(/json$/, "segment")).mtime.toISOString(),
    };
  }
}
