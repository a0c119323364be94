// An arena: memory that one body after the other is received into, and the fast scan that works in it.

import { readFileSync } from "node:fs";
import { limits } from "../../core/limits.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import type { Names } from "../../storage/native/native.ts";
import type { GroupTypes } from "../fields/changes.ts";
import {
  entryLength,
  envelopeKeys,
  itemKeys,
  type KnownKeys,
  knownKeys,
  propertyKeys,
  valueKindOf,
} from "../fields/event_fields.ts";
import type { Warning } from "../fields/outcome.ts";
import { captureLimits } from "../limits.ts";
import { needWarnings, unusualNames } from "./fast_path_rules.ts";
import {
  entriesAt,
  groupTypeBytes,
  groupTypeLengthMax,
  indexMultiple,
  keysMax,
  layout,
  nameBytes,
  paddingBytes,
  singleNumbers,
  sliceChangesMax,
} from "./layout.ts";

/** Rows of one year as columns, side by side in `bytes`; valid until the next writeColumns(). */
export interface ColumnBatch {
  rows: number;
  /** The memory all of it lies in; each column begins at its offset in `layout`. */
  bytes: Uint8Array;
  idsBytes: number;
  propertiesBytes: number;
  /** Names of events, in the body. OUT_EVENT holds their numbers. */
  names: Names;
  /** created_at of all of them, in microseconds. */
  created: number;
  /** Their changes of persons and groups; undefined when there are none. */
  identity: IdentityBatch | undefined;
  /** Bits of the propertyColumns that have values, at OUT_NULLS and OUT_COLUMN_TEXTS; where the texts of each end. */
  valued: number;
  columnEnds: Uint32Array;
  /** Bits of those with a value that only the engine can read. */
  unread: number;
}

export type IdentityBatch = ReturnType<typeof identityIn>;

/** The part of a request that classify() needs. */
interface ClassifyContext {
  /** Microseconds since 1970. */
  received: number;
  /** Microseconds. */
  skew: number;
  project_id: number;
  groupTypes?: Pick<GroupTypes, "assigned"> | undefined;
}

type FastExports = Record<
  "scan" | "open" | "ends" | "repeats" | "judge" | "writeColumns" | "writeIdentity" | "writePropertyColumns",
  (...numbers: number[]) => number
>;

let compiled: WebAssembly.Module | undefined;

const unusualKeys = knownKeys(unusualNames);

export class ScanArena {
  /** Space for a body: at the beginning, followed by padding. */
  readonly body: Uint8Array;
  /** The index the fast scan writes. */
  readonly entries: Int32Array;
  /** Two halves of a hash of each event of the slice that classify() found plain; 0, 0 of the others. */
  readonly shapes: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #fast: FastExports;
  readonly #columns: ColumnBatch;
  readonly #identity: IdentityBatch;
  /** Bytes of the present body. */
  #length = 0;
  /** Rises with each body: what was read of an earlier one is not there any more. */
  generation = 0;
  #sentinelAt = 0;
  /** The request whose events are classified. */
  #request: ClassifyContext | undefined;

  /** Several requests use it, each within one turn: see EventIndex.detach(). */
  readonly isShared: boolean;

  /** Holds bodies of up to `bodyBytesMax` bytes; pages that are never touched take no memory. */
  constructor(bodyBytesMax: number, isShared = false) {
    this.isShared = isShared;
    compiled ??= new WebAssembly.Module(readFileSync(new URL("./fast.wasm", import.meta.url)));
    const entries = entriesAt(bodyBytesMax);
    const indexBytes = indexBytesFor(bodyBytesMax);
    // No larger than needed: the runtime counts this memory when it decides how much garbage may gather.
    const pages = Math.ceil((entries + indexBytes) / 65_536);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const env = { memory, writeTypes: () => this.#writeTypes() };
    const instance = new WebAssembly.Instance(compiled, { env, constants: { ENTRIES: entries } });
    this.#fast = instance.exports as unknown as FastExports;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
    this.shapes = new Uint32Array(memory.buffer, layout.SHAPES, captureLimits.sliceRowsMax * 2);
    this.body = this.#bytes.subarray(layout.BODY, layout.BODY + bodyBytesMax);
    this.entries = new Int32Array(memory.buffer, entries, indexBytes >> 2);
    const offsets = new Uint32Array(memory.buffer, layout.NAME_LIST, 512);
    const names = { source: this.body, offsets, count: 0 };
    const counts = { rows: 0, idsBytes: 0, propertiesBytes: 0, created: 0, valued: 0, unread: 0 };
    const columnEnds = new Uint32Array(memory.buffer, layout.OUT_COLUMN_ENDS, propertyColumns.length);
    this.#columns = { ...counts, bytes: this.#bytes, names, identity: undefined, columnEnds };
    this.#identity = identityIn(this.#bytes, this.body);
    this.#bytes.set(valueKindOf, layout.TRAIT_KINDS);
    writeKnownNames(this.#bytes, layout.NAMES, [
      [layout.ITEM_KEYS, itemKeys],
      [layout.PROPERTY_KEYS, propertyKeys],
      [layout.EVENT_NAMES, unusualKeys],
      [layout.ENVELOPE_KEYS, envelopeKeys],
    ]);
  }

  /** Copies a body here; returns its bytes, as close() does. */
  copy(body: Uint8Array): Uint8Array {
    this.body.set(body);
    return this.close(body.length);
  }

  /** Ends the body after so many bytes, which it returns. */
  close(bytes: number): Uint8Array {
    this.#length = bytes;
    this.generation++;
    this.#bytes.fill(0, layout.BODY + bytes, layout.BODY + bytes + paddingBytes);
    return this.body.subarray(0, bytes);
  }

  /** @throws Error when the memory holds another body than at this generation. */
  assertHolds(generation: number): void {
    if (generation !== this.generation) throw new Error("memory is read that holds another body by now");
  }

  /**
   * Indexes plain items from byte `from` of the body up to about `goal`, as entries number `count` to `countMax`, and
   * from ordinal `items` on: only those that name no other key than the raw one at [keyFrom, keyTo), and that end no
   * further than limits.eventBytesMax after the goal.
   * @returns where it stopped; `foundCount` and `isCommaNext` have more of its result.
   */
  scan(
    from: number,
    goal: number,
    [count, countMax]: readonly [number, number],
    items: number,
    [keyFrom, keyTo]: readonly [number, number],
  ): number {
    const { BODY } = layout;
    const replaced = this.#putSentinel(goal + limits.eventBytesMax);
    const [start, end, key, keyEnd] = [BODY + from, BODY + goal, BODY + keyFrom, BODY + keyTo];
    const at = this.#fast.scan(start, end, count, countMax, items, key, keyEnd);
    this.#restore(replaced);
    return at - BODY;
  }

  /**
   * Reads the beginning of the body; single.ts writes its findings after the first entry.
   * @returns 1 when the whole of it is one plain event, which is then indexed; where the events of a batch begin; 0
   * when it is anything else, or unusual.
   */
  open(): number {
    const replaced = this.#putSentinel(captureLimits.sliceBytesMax);
    const opened = this.#fast.open(this.#length);
    this.#restore(replaced);
    return opened;
  }

  /** Whether an entry that was scanned the slow way may name a key of an object twice. */
  mayRepeat(number: number): boolean {
    return this.#fast.repeats(number) === 1;
  }

  /** Whether the body ends as usual after the array that closes at byte `from`; findings of a batch as open()'s. */
  endsPlain(from: number, count: number, isBatch: boolean): boolean {
    const replaced = this.#putSentinel(from + captureLimits.sliceBytesMax);
    const ended = this.#fast.ends(layout.BODY + from, this.#length, count, isBatch ? 1 : 0);
    this.#restore(replaced);
    return ended === 1;
  }

  /** A NUL at `from` stops the scan there, since it is not JSON; returns the byte to restore. */
  #putSentinel(from: number): number {
    this.#sentinelAt = layout.BODY + Math.min(from, this.#length);
    const replaced = this.#bytes[this.#sentinelAt]!;
    this.#bytes[this.#sentinelAt] = 0;
    return replaced;
  }

  #restore(replaced: number): void {
    this.#bytes[this.#sentinelAt] = replaced;
  }

  /** Items that the last scan() indexed. */
  get foundCount(): number {
    return this.#words[layout.COUNT >> 2]!;
  }

  /** Whether a comma followed the last of them. */
  get isCommaNext(): boolean {
    return this.#words[layout.EXPECTS >> 2] === 1;
  }

  /**
   * Classifies a slice of entries, from number `first` on: which are plain, and of which years.
   * @param latest the latest plausible time, in microseconds.
   * @returns how many entries the slice has.
   */
  classify(first: number, count: number, request: ClassifyContext, latest: number): number {
    const { received, skew } = request;
    this.#request = request;
    const entryCount = this.#fast.judge(first, count, captureLimits.sliceBytesMax, received, skew, latest);
    if (this.#words[layout.LACKING >> 2]! > 0) {
      crypto.getRandomValues(this.#bytes.subarray(layout.ENTROPY, layout.ENTROPY + entryCount * 6));
    }
    return entryCount;
  }

  /** How many years the plain ones are of. */
  get yearCount(): number {
    return this.#words[layout.YEARS >> 2]!;
  }

  /** The year of that number. */
  yearAt(number: number): number {
    return this.#words[(layout.YEAR_LIST >> 2) + number * 3]!;
  }

  /** Plain entries that get a warning: those of the slice, and after writeColumns() those of the year. */
  get warnedCount(): number {
    return this.#words[layout.WARNED >> 2]!;
  }

  /** The number of a warned entry within the slice, and 2^16 times its row's. */
  warnedAt(number: number): number {
    return this.#words[(layout.WARN_LIST >> 2) + number]!;
  }

  /** The warning of an entry, by its number within the slice. */
  readWarning(nth: number): Warning {
    return needWarnings[this.#bytes[layout.LACKS_NEED + nth]!]!;
  }

  /** Entries that are not plain; slowAt() returns which. */
  get slowCount(): number {
    return this.#words[layout.SLOW >> 2]!;
  }

  slowAt(number: number): number {
    const at = layout.SLOW_LIST + number * 2;
    return this.#bytes[at]! | (this.#bytes[at + 1]! << 8);
  }

  /** Writes the plain rows of one year as columns. `first` as for classify(); `rank` is that entry's. */
  writeColumns(
    first: number,
    year: number,
    { project_id, historical_migration }: { project_id: number; historical_migration: boolean },
    created: number,
    rank: number,
  ): ColumnBatch {
    const columns = this.#columns;
    const historical = historical_migration ? 1 : 0;
    columns.rows = this.#fast.writeColumns(first, year, project_id, created, historical, rank);
    columns.idsBytes = this.#words[layout.OUT_IDS_LENGTH >> 2]!;
    columns.propertiesBytes = this.#words[layout.OUT_PROPERTIES_LENGTH >> 2]!;
    columns.names.count = this.#words[layout.NAMES_USED >> 2]!;
    columns.created = created;
    const hasIdentity =
      this.#words[layout.IDENTITY_ANY >> 2] !== 0 && this.#fast.writeIdentity(first, year, rank) !== 0;
    columns.identity = hasIdentity ? this.#readIdentity() : undefined;
    columns.valued = this.#fast.writePropertyColumns(first, year);
    columns.unread = this.#words[layout.UNREAD_COLUMNS >> 2]!;
    return columns;
  }

  #readIdentity(): IdentityBatch {
    const words = this.#words;
    const identity = this.#identity;
    identity.changes = words[layout.OUT_CHANGES >> 2]!;
    identity.keyNames.count = words[layout.KEYS_USED >> 2]!;
    identity.valuesBytes = words[layout.OUT_VALUES_LENGTH >> 2]!;
    identity.groups = words[layout.OUT_GROUPS >> 2]!;
    identity.groupKeysBytes = words[layout.OUT_GROUP_KEYS_LENGTH >> 2]!;
    return identity;
  }

  /** Writes the group types that plain events may name; called by the module when an event names one. */
  #writeTypes(): void {
    const { groupTypes, project_id } = this.#request!;
    let count = 0;
    for (const type of groupTypes?.assigned(project_id) ?? []) {
      if (type.length > groupTypeLengthMax || count === limits.groupTypesMax) continue;
      const at = layout.GROUP_TYPES + 16 + count * groupTypeBytes;
      this.#words[at >> 2] = type.length;
      this.#bytes.set(type, at + 16);
      this.#identity.typeNames.offsets.set([at + 16, type.length], count++ * 2);
    }
    this.#words[layout.GROUP_TYPES >> 2] = count;
    this.#identity.typeNames.count = count;
  }
}

/** The likely bytes of a long body's index. Tiny events need more, up to its bound. */
export function likelyIndexBytes(bodyBytes: number): number {
  if (bodyBytes < captureLimits.arenaBodyBytesMin) return 0;
  return Math.min(limits.indexBytesMax, Math.ceil(bodyBytes / bodyBytesPerIndexByte));
}

/** A usual event has 552 bytes, its entry in the index 224. */
const bodyBytesPerIndexByte = 2;

/** Bytes of the index for a body of so many bytes: at least one entry, with single.ts's findings. */
function indexBytesFor(bodyBytesMax: number): number {
  const most = Math.min(limits.indexBytesMax, bodyBytesMax * indexMultiple);
  return Math.max(Math.ceil(most / 64) * 64, (entryLength + singleNumbers) * 4);
}

/** Columns of the rows' persons and groups: items of arrays, and where each row's end. */
function identityIn(bytes: Uint8Array, body: Uint8Array) {
  const rows = captureLimits.sliceRowsMax;
  const memory = bytes.buffer;
  return {
    changes: 0,
    changeEnds: new Uint32Array(memory, layout.OUT_CHANGE_ENDS, rows),
    /** The keys that are changed, as numbers of names in the body. */
    keys: new Uint16Array(memory, layout.OUT_KEYS, sliceChangesMax),
    keyNames: { source: body, offsets: new Uint32Array(memory, layout.KEY_LIST, keysMax * 2), count: 0 },
    valuesBytes: 0,
    groups: 0,
    groupEnds: new Uint32Array(memory, layout.OUT_GROUP_ENDS, rows),
    types: new Uint8Array(memory, layout.OUT_GROUP_TYPES, rows * limits.groupTypesMax),
    typeNames: { source: bytes, offsets: new Uint32Array(limits.groupTypesMax * 2), count: 0 },
    groupKeysBytes: 0,
    uuids: new Uint32Array(memory, layout.OUT_UUID, rows * 4),
    /** Two words each; 0 of rows that change nothing. */
    ranks: new Uint32Array(memory, layout.OUT_RANKS, rows * 2),
  };
}

/** Writes the names of each table, side by side from `names` on; at most 255 in all. */
export function writeKnownNames(
  bytes: Uint8Array,
  names: number,
  tables: readonly (readonly [table: number, keys: KnownKeys])[],
): void {
  const view = new DataView(bytes.buffer);
  let next = 1;
  for (const [table, { byLength }] of tables) {
    for (const { name, slot } of byLength.flat()) {
      const bucket = table + name.length * 256 + name[1]!;
      const at = names + next * nameBytes;
      view.setInt32(at, slot, true);
      view.setUint32(at + 4, bytes[bucket]!, true);
      bytes.set(name, at + 16);
      bytes[bucket] = next++;
    }
  }
}
