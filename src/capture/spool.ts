// The file an embedded engine reads a lane's batches from. One file, written over again and again: pages that
// are
// already there cost far less than fresh ones. Never written to while somebody may still read it.

import { type FileHandle, open, rm } from "node:fs/promises";
import { writeWhole } from "./files.ts";

export class Spool {
  readonly #stem: string;
  #generation = 0;
  #file: FileHandle | undefined;
  #bytes = new Uint8Array(0);

  /** `stem`: the path without its ending. */
  constructor(stem: string) {
    this.#stem = stem;
  }

  /** Room for `size` bytes, the same memory every time; what is in it lasts until the next call. */
  room(size: number): Uint8Array {
    if (this.#bytes.length < size) this.#bytes = new Uint8Array(Math.ceil(size * 1.25));
    return this.#bytes.subarray(0, size);
  }

  /** Lets the memory go, when nothing waits to be flushed. */
  rest(): void {
    this.#bytes = new Uint8Array(0);
  }

  /** Makes the blocks the file's whole content; resolves to its path. */
  async put(blocks: Uint8Array[]): Promise<string> {
    const path = `${this.#stem}-${this.#generation}.native`;
    this.#file ??= await open(path, "w", 0o600);
    let size = 0;
    for (const block of blocks) {
      await writeWhole(this.#file, block, size);
      size += block.length;
    }
    await this.#file.truncate(size);
    return path;
  }

  /**
   * After a failure somebody may still read the file: it is left to them, without its name, and the next is a
   * new one.
   */
  async abandon(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    await rm(`${this.#stem}-${this.#generation++}.native`, { force: true });
  }
}
