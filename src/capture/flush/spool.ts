// The file from which an embedded engine reads batches that are not a whole segment. It is overwritten again and again,
// as pages that exist cost far less than new ones, but not while the engine may still read it.

import { type FileHandle, open, rm } from "node:fs/promises";
import { flushLimits } from "./limits.ts";
import { writeWhole } from "../journal/segments/files.ts";

/** A range of bytes of a file. */
export interface FileRange {
  offset: number;
  length: number;
}

export class Spool {
  readonly #stem: string;
  #generation = 0;
  #file: FileHandle | undefined;
  #buffer: Uint8Array | undefined;

  /** `stem`: the path without its ending. */
  constructor(stem: string) {
    this.#stem = stem;
  }

  /** Frees the buffer, when nothing waits to be flushed. */
  rest(): void {
    this.#buffer = undefined;
  }

  /** Replaces the file's content with the blocks; resolves to its path. */
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
   * Replaces the file's content with these ranges of the file at `from`; resolves to its path.
   * @throws when the other file ends before one of them does.
   */
  async copy(from: string, ranges: FileRange[]): Promise<string> {
    const file = await this.#opened();
    const buffer = (this.#buffer ??= new Uint8Array(flushLimits.spoolRoomBytes));
    const source = await open(from, "r");
    let [size, held] = [0, 0];
    const write = async () => {
      await writeWhole(file, buffer.subarray(0, held), size);
      size += held;
      held = 0;
    };
    try {
      for (const { offset, length } of ranges) {
        for (let done = 0; done < length;) {
          const wanted = Math.min(length - done, buffer.length - held);
          const { bytesRead } = await source.read(buffer, held, wanted, offset + done);
          if (bytesRead === 0) throw new Error(`${from} ends early`);
          done += bytesRead;
          held += bytesRead;
          if (held === buffer.length) await write();
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
   * Deletes the file; the next one gets another name. After a failure the engine may still read the old one.
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
