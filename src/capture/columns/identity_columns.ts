// The columns of persons and groups in a block: written only when one of its rows has something for them, so that other
// events cost nothing.

import { ByteColumn, Dictionary, sumCapacity, writeColumnHead } from "../../storage/native/native.ts";
import { ArrayOffsets, writeLowCardinalityArrays } from "../../storage/native/native_arrays.ts";
import type { Row } from "../fields/row.ts";
import { layout } from "../wasm/layout.ts";
import type { ColumnBatch, IdentityBatch } from "../wasm/scan_arena.ts";

/** Whether a row has nothing for these columns. */
export function hasNoIdentity({ person_mode, changes, groups }: Row): boolean {
  return person_mode === 0 && changes.count === 0 && groups.count === 0;
}

export class IdentityColumns {
  #used = false;
  readonly #mode = new ByteColumn();
  readonly #changes = new ArrayOffsets();
  readonly #keys = new Dictionary();
  readonly #ops = new ByteColumn();
  readonly #values = new ByteColumn();
  readonly #ranks = new ByteColumn();
  readonly #groups = new ArrayOffsets();
  readonly #groupTypes = new Dictionary();
  readonly #groupKeys = new ByteColumn();

  readonly #parts = {
    fixed: [this.#mode, this.#ranks, this.#ops, this.#values, this.#groupKeys],
    arrays: [this.#changes, this.#groups],
    names: [this.#keys, this.#groupTypes],
  };

  /** The number of changes of persons and groups in all rows. */
  get changes(): number {
    return this.#ops.length;
  }

  get namesBytes(): number {
    return this.#keys.bytes + this.#groupTypes.bytes;
  }

  get capacity(): number {
    const { fixed, arrays, names } = this.#parts;
    return sumCapacity([...fixed, ...arrays, ...names]);
  }

  /** How many columns encode() writes. */
  get columns(): number {
    return this.#used ? 7 : 0;
  }

  /**
   * Adds row number `rowNumber` (rising); rows that hasNoIdentity() may be omitted. Returns about how many bytes it
   * has.
   */
  append(rowNumber: number, row: Row): number {
    const { changes, groups } = row;
    this.#used = true;
    this.#padModes(rowNumber);
    this.#mode.u8(row.person_mode);
    this.#ranks.i64(changes.count > 0 ? row.rank : 0);
    const before = this.#values.length + this.#groupKeys.length;
    for (let at = 0; at < changes.count; at++) {
      this.#keys.append(changes.keySource(at), changes.keyFrom[at]!, changes.keyTo[at]!);
      this.#ops.u8(changes.ops[at]!);
      this.#values.string(changes.source, changes.valueFrom[at], changes.valueTo[at]);
    }
    if (changes.count > 0) this.#changes.add(rowNumber, changes.count);
    for (let at = 0; at < groups.count; at++) {
      const [type, key] = [groups.types[at]!, groups.keys[at]!];
      this.#groupTypes.append(type.source, type.from, type.to);
      this.#groupKeys.string(key.source, key.from, key.to);
    }
    if (groups.count > 0) this.#groups.add(rowNumber, groups.count);
    return this.#values.length + this.#groupKeys.length - before + changes.count * 2;
  }

  /** Appends many rows that are columns already, from number `rowNumber` on. */
  appendColumns(rowNumber: number, { rows, bytes }: ColumnBatch, identity: IdentityBatch): number {
    this.#used = true;
    this.#padModes(rowNumber);
    const copy = (column: ByteColumn, from: number, size: number) => column.raw(bytes, from, from + size);
    copy(this.#mode, layout.OUT_MODE, rows);
    copy(this.#ranks, layout.OUT_RANKS, rows * 8);
    const { changes, groups, valuesBytes, groupKeysBytes } = identity;
    if (changes > 0) {
      this.#changes.addMany(rowNumber, identity.changeEnds, rows);
      this.#keys.appendNumbered(identity.keys, changes, identity.keyNames);
      copy(this.#ops, layout.OUT_OPS, changes);
      copy(this.#values, layout.OUT_VALUES, valuesBytes);
    }
    if (groups > 0) {
      this.#groups.addMany(rowNumber, identity.groupEnds, rows);
      this.#groupTypes.appendNumbered(identity.types, groups, identity.typeNames);
      copy(this.#groupKeys, layout.OUT_GROUP_KEYS, groupKeysBytes);
    }
    return valuesBytes + groupKeysBytes + changes * 2;
  }

  encode(out: ByteColumn, rows: number): void {
    if (!this.#used) return;
    this.#padModes(rows);
    this.#changes.pad(rows);
    this.#groups.pad(rows);
    writeColumnHead(out, "person_mode", "UInt8");
    out.raw(this.#mode.bytes, 0, this.#mode.length);
    writeColumnHead(out, "pk", "Array(LowCardinality(String))");
    writeLowCardinalityArrays(out, this.#changes, this.#keys);
    const arrays = (name: string, type: string, offsets: ArrayOffsets, items: ByteColumn) => {
      writeColumnHead(out, name, type);
      offsets.encode(out);
      out.raw(items.bytes, 0, items.length);
    };
    arrays("pw", "Array(Int8)", this.#changes, this.#ops);
    arrays("pv", "Array(String)", this.#changes, this.#values);
    writeColumnHead(out, "gt", "Array(LowCardinality(String))");
    writeLowCardinalityArrays(out, this.#groups, this.#groupTypes);
    arrays("gk", "Array(String)", this.#groups, this.#groupKeys);
    writeColumnHead(out, "rank", "UInt64");
    out.raw(this.#ranks.bytes, 0, this.#ranks.length);
  }

  clear(): void {
    if (!this.#used) return;
    this.#used = false;
    const { fixed, arrays, names } = this.#parts;
    for (const column of fixed) column.length = 0;
    for (const part of [...arrays, ...names]) part.clear();
  }

  #padModes(rows: number): void {
    this.#mode.zeros(rows - this.#mode.length);
    this.#ranks.zeros(rows * 8 - this.#ranks.length);
  }
}
