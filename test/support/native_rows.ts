// A Native block read back as rows of plain values. Knows the types that event blocks are made of.

const decoder = new TextDecoder();

export type NativeRow = Record<string, unknown>;

/** The rows of the one block in `bytes`: texts, numbers, uuids as text, arrays. @throws on anything left over. */
export function readRows(bytes: Uint8Array): NativeRow[] {
  const read = new Reader(bytes);
  const rows = readBlock(read);
  if (read.at !== bytes.length) throw new Error("bytes are left behind the block");
  const shown = (value: unknown) => (typeof value === "bigint" ? Number(value) : value);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(value)])),
  );
}

/** The rows of blocks that stand one behind the other, UInt64 as bigint. @throws when the last one is cut short. */
export function readBlocks(bytes: Uint8Array): NativeRow[] {
  const read = new Reader(bytes);
  const rows: NativeRow[] = [];
  while (read.at < bytes.length) for (const row of readBlock(read)) rows.push(row);
  return rows;
}

function readBlock(read: Reader): NativeRow[] {
  const columns = read.varuint();
  const count = read.varuint();
  const rows = Array.from({ length: count }, (): NativeRow => ({}));
  for (let column = 0; column < columns; column++) {
    const name = read.text();
    const values = readColumn(read, read.text().replace(/\/\*.*$/, ""), count);
    for (const [i, row] of rows.entries()) row[name] = values[i];
  }
  return rows;
}

function readColumn(read: Reader, type: string, count: number): unknown[] {
  const each = <T>(one: () => T): T[] => Array.from({ length: count }, one);
  if (type === "String") return each(() => read.text());
  if (type === "UUID") return each(() => uuidOf(read.take(16)));
  if (type === "UInt8" || type === "Int8" || type === "Bool") return each(() => read.take(1)[0]);
  if (type === "UInt32") return each(() => read.number(4));
  if (type === "Int64") return each(() => read.long());
  if (type === "UInt64") return each(() => BigInt.asUintN(64, read.long()));
  if (type.startsWith("DateTime64")) return each(() => Number(read.long()));
  if (type === "LowCardinality(String)") {
    read.take(8);
    return readNames(read, count);
  }
  if (type === "Nullable(String)") {
    const nulls = [...read.take(count)];
    return nulls.map((isNull) => (isNull === 1 && read.text() === "" ? null : read.text()));
  }
  const item = /^Array\((.+)\)$/.exec(type)?.[1];
  if (!item) throw new Error(`unknown type ${type}`);
  const named = item === "LowCardinality(String)";
  if (named) read.take(8);
  const ends = each(() => read.number(8));
  const items = ends.at(-1) ?? 0;
  const all = named ? (items > 0 ? readNames(read, items) : []) : readColumn(read, item, items);
  return ends.map((end, i) => all.slice(ends[i - 1] ?? 0, end));
}

function readNames(read: Reader, count: number): string[] {
  const width = 1 << (read.number(8) & 255);
  const names = Array.from({ length: read.number(8) }, () => "");
  for (let i = 0; i < names.length; i++) names[i] = read.text();
  if (new Set(names).size !== names.length) throw new Error("a name is twice in its dictionary");
  if (read.number(8) !== count) throw new Error("other indexes than rows");
  return Array.from({ length: count }, () => names[read.number(width)]!);
}

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from([...bytes.slice(0, 8).toReversed(), ...bytes.slice(8).toReversed()]).toString(
    "hex",
  );
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

class Reader {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(size: number): Uint8Array {
    if (this.at + size > this.#bytes.length) throw new Error("the block is cut short");
    return this.#bytes.subarray(this.at, (this.at += size));
  }

  number(width: number): number {
    return this.take(width).reduceRight((value, byte) => value * 256 + byte, 0);
  }

  long(): bigint {
    const bytes = this.take(8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true);
  }

  varuint(): number {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = this.take(1)[0]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  text(): string {
    return decoder.decode(this.take(this.varuint()));
  }
}
