// A growing buffer that borrows long byte arrays instead of copying them. They must not change until they are written.

import { ByteColumn } from "./native.ts";

/** Shorter arrays are copied: another piece costs more. */
const borrowedBytesMin = 16 * 1024;

interface Borrowed {
  /** Its place among the own bytes. */
  at: number;
  bytes: Uint8Array;
}

export class Pieces extends ByteColumn {
  #borrowed: Borrowed[] = [];
  #borrowedBytes = 0;

  override raw(source: Uint8Array, from = 0, to = source.length): void {
    if (to - from < borrowedBytesMin) super.raw(source, from, to);
    else this.borrow(source.subarray(from, to));
  }

  /** Adds bytes without copying them. */
  borrow(bytes: Uint8Array): void {
    this.#borrowed.push({ at: this.length, bytes });
    this.#borrowedBytes += bytes.length;
  }

  /** Copies bytes of any length, for those that may change before they are written. */
  copy(source: Uint8Array, from: number, to: number): void {
    super.raw(source, from, to);
  }

  /** The number of bytes so far, with the borrowed ones. */
  get total(): number {
    return this.length + this.#borrowedBytes;
  }

  /** All bytes in order, from place `from` of the own ones on; valid until the next write. */
  list(from = 0): Uint8Array[] {
    const list: Uint8Array[] = [];
    let own = from;
    const takeOwn = (to: number): void => {
      if (to > own) list.push(this.bytes.subarray(own, to));
      own = to;
    };
    for (const { at, bytes } of this.#borrowed) {
      if (at < from) continue;
      takeOwn(at);
      list.push(bytes);
    }
    takeOwn(this.length);
    return list;
  }

  clear(): void {
    this.length = 0;
    this.#borrowed = [];
    this.#borrowedBytes = 0;
  }
}
