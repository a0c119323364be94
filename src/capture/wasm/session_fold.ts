// Folds the events of Native blocks by session and distinct id, in WebAssembly: rows that the engine only has to put
// together, instead of the properties of every event, which it would read again. An event of which the engine's own
// reader might see something else stays as it is, among those that are unread.

import { readFileSync } from "node:fs";
import { toBytes } from "../../core/bytes.ts";
import { wordsIn } from "../../core/words.ts";
import { columnOffsets, numberedNamesAt, readIndex } from "../../storage/native/column_offsets.ts";
import { ByteColumn, microsType, writeBlockHead, writeColumnHead } from "../../storage/native/native.ts";
import { knownKeys } from "../fields/event_fields.ts";
import { layout, paddingBytes } from "./layout.ts";
import { writeKnownNames } from "./scan_arena.ts";
import {
  foldBlockBytesMax,
  foldColumns,
  foldedNames,
  foldLayout,
  foldNamesMax,
  foldUnreadNumbers,
} from "./session_layout.ts";
import { type ListedEvent, readStray, type StrayEvent, UnreadEvents } from "./unread_events.ts";

type FoldExports = Record<"fold" | "foldedCount" | "write", () => number> &
  Record<"unread" | "strays", { value: number }> & { begin(secret: bigint): void };

/** The columns in the order in which the module writes them; sessionsOfFolds has the same. */
const columns: readonly (readonly [name: string, type: string])[] = [
  ["project_id", "UInt32"],
  ["session_id", "String"],
  ["began", "Int64"],
  ["ended", "Int64"],
  ["arrived", microsType],
  ["first_arrived", microsType],
  ["first_seen", "String"],
  ["entry", "String"],
  ["exit", "String"],
  ["external_click", "String"],
  ["lcp", "String"],
  ["counted", "Array(UInt32)"],
];

const foldedColumns = wordsIn("uuid project_id timestamp distinct_id properties created_at");

/** Kinds that `counted` has of an event beside its hash: the same numbers as src/storage/events/sessions.ts has. */
const kinds = ["$pageview", "$autocapture", "$screen"].map(toBytes);

let compiled: WebAssembly.Module | undefined;

export class SessionFold {
  /** Space for a block before add(): anywhere in it, or several side by side. */
  readonly input: Uint8Array;
  /** Native blocks of rows that are folded, for the structure of sessionsOfFolds, and their bytes. */
  #folded: Uint8Array[] = [];
  foldedBytes = 0;
  readonly #unread = new UnreadEvents();
  /** Examples; the first foldStraysMax of each call of the module. */
  #strays: StrayEvent[] = [];
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #wasm: FoldExports;

  constructor() {
    compiled ??= new WebAssembly.Module(readFileSync(new URL("./sessions.wasm", import.meta.url)));
    const pages = Math.ceil((foldLayout.END + paddingBytes) / 65_536);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const bytes = new Uint8Array(memory.buffer);
    const readNumber = (from: number, to: number) => Number(String.fromCharCode(...bytes.subarray(from, to)));
    const instance = new WebAssembly.Instance(compiled, { env: { memory, numberOf: readNumber } });
    this.#wasm = instance.exports as unknown as FoldExports;
    this.#bytes = bytes;
    this.#words = new Uint32Array(memory.buffer);
    this.input = bytes.subarray(foldLayout.BLOCK, foldLayout.BLOCK + foldBlockBytesMax);
    const slots = Object.fromEntries(foldedNames.map((name, slot) => [name, slot]));
    writeKnownNames(bytes, layout.NAMES, [[layout.PROPERTY_KEYS, knownKeys(slots)]]);
    this.begin();
  }

  /** Forgets all. */
  begin(): void {
    this.#wasm.begin(crypto.getRandomValues(new BigUint64Array(1))[0]!);
    this.drainFolded();
    this.#unread.drain();
    this.#strays = [];
  }

  /** Bytes of the events that are unread. */
  get unreadBytes(): number {
    return this.#unread.bytes;
  }

  /**
   * Folds the block at these bytes of the memory.
   * @throws Error when it is no block of events, or has more names of them than there is room for.
   */
  add(from: number, length: number): void {
    const block = this.input.subarray(from, from + length);
    const { rows, offsets } = columnOffsets(block, [...foldedColumns, "event"]);
    if (rows === 0) return;
    const { names, indexesAt, indexBytes } = numberedNamesAt(block, offsets.event.from);
    // A block of short events may have more: nothing may be written past the room, where the block itself begins.
    if (names.length > foldNamesMax) throw new Error(`a block with ${names.length} names of events`);
    for (const [number, name] of names.entries())
      this.#bytes[foldLayout.KINDS + number] =
        1 + kinds.findIndex((kind) => Buffer.compare(kind, name) === 0);
    const base = foldLayout.BLOCK + from;
    const [uuids, projects, timestamps, ids, properties, arrivals] = foldedColumns.map(
      (name) => base + offsets[name].from,
    ) as [number, number, number, number, number, number];
    const [indexes, wasm] = [base + indexesAt, this.#wasm];
    this.#open({ rows, row: 0, kinds: foldLayout.KINDS, indexes, indexBytes });
    this.#open({ uuids, projects, timestamps, ids, properties, arrivals });
    const listed = (list: number, nth: number): ListedEvent => {
      const numbers = this.#words.subarray((list >> 2) + nth * foldUnreadNumbers);
      const [row, id, idLength, text, textLength] = numbers as unknown as readonly [number, ...number[]];
      return {
        uuid: uuids + row * 16,
        project: projects + row * 4,
        event: names[readIndex(this.#bytes.subarray(indexes), indexBytes, row)]!,
        timestamp: timestamps + row * 8,
        created: arrivals + row * 8,
        id: [id!, idLength!],
        text: [text!, textLength!],
      };
    };
    for (let isThrough = false; !isThrough;) {
      isThrough = wasm.fold() === 1;
      for (let i = 0; i < wasm.unread.value; i++)
        this.#unread.append(this.#bytes, listed(foldLayout.UNREAD, i));
      for (let i = 0; i < wasm.strays.value; i++)
        this.#strays.push(readStray(this.#bytes, listed(foldLayout.STRAYS, i)));
      if (!isThrough) this.#write();
    }
  }

  /** Sets numbers of the block that the module folds next. */
  #open(numbers: Record<string, number>): void {
    const globals = this.#wasm as unknown as Record<string, { value: number }>;
    for (const [name, value] of Object.entries(numbers)) globals[name]!.value = value;
  }

  /** Examples of events outside of their sessions; forgets them. */
  drainStrays(): StrayEvent[] {
    const strays = this.#strays;
    this.#strays = [];
    return strays;
  }

  /** Returns what is folded so far, as Native blocks; the fold begins anew. */
  drainFolded(): Uint8Array[] {
    this.#write();
    const folded = this.#folded;
    this.#folded = [];
    this.foldedBytes = 0;
    return folded;
  }

  /** The events that are unread, as a Native block for the structure of sessionsOfBlocks; undefined without any. */
  drainUnread(): Uint8Array | undefined {
    return this.#unread.drain();
  }

  #write(): void {
    if (this.#wasm.foldedCount() === 0) return;
    const rows = this.#wasm.write();
    const ends = this.#words.subarray(
      foldLayout.COLUMN_ENDS >> 2,
      (foldLayout.COLUMN_ENDS >> 2) + foldColumns,
    );
    const out = new ByteColumn(ends.at(-1)! - foldLayout.OUT + 1024);
    writeBlockHead(out, columns.length, rows);
    let from: number = foldLayout.OUT;
    for (const [which, [name, type]] of columns.entries()) {
      writeColumnHead(out, name, type);
      out.raw(this.#bytes, from, (from = ends[which]!));
    }
    this.#folded.push(out.filled());
    this.foldedBytes += out.length;
  }
}
