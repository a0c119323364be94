// Quarantine: rows that ClickHouse refuses permanently, each in a file of its own beside the reason, so that they do
// not block the rows behind them.

import { toReason } from "../../core/log.ts";
import { Pieces } from "../../storage/native/native.ts";
import { writeDurably } from "./journal_io.ts";
import type { JournalSetup, LaneKind } from "./lane_kind.ts";
import { writeFrame } from "./segments/frame.ts";
import { returnedSuffix, segmentHead, toSegment } from "./segments/segment.ts";

interface Quarantined {
  /** The batch number in hexadecimal; the argument of `journal retry` and `journal discard`. */
  id: string;
  lane: string;
  partition: number;
  reason: string;
  /** ISO 8601, when it was set aside. */
  at: string;
}

/** One refused row as a Native block, and where it belongs. */
export interface Refused extends Pick<Quarantined, "partition" | "reason"> {
  lane: LaneKind;
  batch: bigint;
  oldest: number;
  native: Uint8Array;
}

export class Quarantine {
  readonly #setup: JournalSetup;
  readonly #folder: string;
  readonly #journalFolder: string;

  constructor(setup: JournalSetup, dataDir: string) {
    this.#setup = setup;
    this.#folder = `${dataDir}/quarantine`;
    this.#journalFolder = `${dataDir}/journal`;
    setup.io.makeFolder(this.#folder);
  }

  get count(): number {
    return this.#ids().length;
  }

  /** Durable when it resolves. The note is written first, so that no row is there without its reason. */
  async add(refused: Refused, now: Date): Promise<void> {
    const id = refused.batch.toString(16).padStart(16, "0");
    const { lane, partition, reason } = refused;
    const note: Quarantined = { id, lane: lane.name, partition, reason, at: now.toISOString() };
    await writeDurably(this.#setup.io, `${this.#folder}/${id}.json`, JSON.stringify(note));
    const out = new Pieces(256);
    out.raw(segmentHead(this.#setup, lane, toSegment(refused.batch)));
    const head = { batch: refused.batch, partition, rows: 1, oldest: refused.oldest, synced: 0, before: 0 };
    await writeFrame(out, head, (payload) => payload.raw(refused.native));
    await writeDurably(this.#setup.io, `${this.#folder}/${id}.segment`, Buffer.concat(out.list()));
  }

  /** The rows by id; where a note cannot be read, its `reason` is that. */
  list(): Quarantined[] {
    return this.#ids().map((id) => this.#readNote(`${this.#folder}/${id}.json`, id));
  }

  /** Returns rows to the journal, which adopts them within seconds, or at the next start. Returns how many. */
  retry(id: string | "all"): number {
    const { io } = this.#setup;
    return this.#each(id, (name) => {
      io.makeFolder(this.#journalFolder);
      io.rename(`${this.#folder}/${name}.segment`, `${this.#journalFolder}/${name}${returnedSuffix}`);
      io.remove(`${this.#folder}/${name}.json`);
    });
  }

  discard(id: string | "all"): number {
    return this.#each(id, (name) => {
      for (const ending of ["segment", "json"]) this.#setup.io.remove(`${this.#folder}/${name}.${ending}`);
    });
  }

  #each(id: string | "all", act: (id: string) => void): number {
    const chosen = id === "all" ? this.#ids() : this.#ids().filter((name) => name === id);
    for (const name of chosen) act(name);
    return chosen.length;
  }

  #ids(): string[] {
    return this.#setup.io
      .list(this.#folder)
      .filter((name) => name.endsWith(".segment"))
      .map((name) => name.slice(0, -".segment".length))
      .toSorted();
  }

  /** A row whose note cannot be read can be retried or discarded all the same: its lane is in its file. */
  #readNote(path: string, id: string): Quarantined {
    const { io } = this.#setup;
    try {
      const note = JSON.parse(Buffer.from(io.read(path)).toString()) as Quarantined;
      if (note.id !== id) throw new Error("it is another row's");
      return note;
    } catch (thrown) {
      const reason = `the note ${path} cannot be read: ${toReason(thrown)}`;
      const at = io.stat(path.replace(/json$/, "segment")).mtime.toISOString();
      return { id, lane: "unknown", partition: 0, reason, at };
    }
  }
}
