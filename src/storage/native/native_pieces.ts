// Bytes to be written, without laying long columns side by side first: a growing buffer that borrows them. Never
// copies what is long, so that must stay as it is until it is written.

import { ByteColumn } from "./native.ts";

/** Shorter stretches are copied: one more piece costs more than that. */
const borrowedBytesMin = 16 * 1024;

interface Borrowed {
  /** Where in the own bytes it belongs. */
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

  /** Takes bytes in without copying them. */
  borrow(bytes: Uint8Array): void {
    this.#borrowed.push({ at: this.length, bytes });
    this.#borrowedBytes += bytes.length;
  }

  /** Copies bytes, however long they are: they may change before these are written. */
  copy(source: Uint8Array, from: number, to: number): void {
    super.raw(source, from, to);
  }

  /** All bytes so far, borrowed ones included. */
  get total(): number {
    return this.length + this.#borrowedBytes;
  }

  /** The bytes in their order, from place `from` of the own ones on; valid until the next write. */
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
