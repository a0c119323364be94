// The file an embedded engine reads what is not a file of its own from. One file, written over again and again: pages
// that are already there cost far less than fresh ones. Never written to while somebody may still read it.

import { type FileHandle, open, rm } from "node:fs/promises";
import { flushLimits } from "./limits.ts";
import { writeWhole } from "../journal/segments/files.ts";

/** Bytes of a file that lie side by side. */
export interface FileRange {
  offset: number;
  length: number;
}

export class Spool {
  readonly #stem: string;
  #generation = 0;
  #file: FileHandle | undefined;
  #room: Uint8Array | undefined;

  /** `stem`: the path without its ending. */
  constructor(stem: string) {
    this.#stem = stem;
  }

  /** Lets the memory go, when nothing waits to be flushed. */
  rest(): void {
    this.#room = undefined;
  }

  /** Makes the blocks the file's whole content; resolves to its path. */
  async put(blocks: Uint8Array[]): Promise<string> {
    const file = await this.#opened();
    let size = 0;
    for (const block of blocks) {
      await writeWhole(file, block, size);
      size += block.length;
    }
    await file.truncate(size);
    return this.#path;
  }

  /**
   * Makes these stretches of the file at `from` the file's whole content; resolves to its path.
   * @throws when the other file ends before one of them does.
   */
  async copy(from: string, stretches: FileRange[]): Promise<string> {
    const file = await this.#opened();
    const room = (this.#room ??= new Uint8Array(flushLimits.spoolRoomBytes));
    const source = await open(from, "r");
    let [size, held] = [0, 0];
    const write = async () => {
      await writeWhole(file, room.subarray(0, held), size);
      size += held;
      held = 0;
    };
    try {
      for (const { offset, length } of stretches) {
        for (let done = 0; done < length;) {
          const wanted = Math.min(length - done, room.length - held);
          const { bytesRead } = await source.read(room, held, wanted, offset + done);
          if (bytesRead === 0) throw new Error(`${from} ends early`);
          done += bytesRead;
          held += bytesRead;
          if (held === room.length) await write();
        }
      }
      await write();
    } finally {
      await source.close();
    }
    await file.truncate(size);
    return this.#path;
  }

  /**
   * After a failure somebody may still read the file: it is left to them, without its name, and the next is a
   * new one.
   */
  async abandon(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    await rm(this.#path, { force: true });
    this.#generation++;
  }

  get #path(): string {
    return `${this.#stem}-${this.#generation}.native`;
  }

  async #opened(): Promise<FileHandle> {
    return (this.#file ??= await open(this.#path, "w", 0o600));
  }
}
