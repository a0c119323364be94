// Ends the embedded ClickHouse when one of its writes to the disk has failed, before anybody learns of a success.

import { writeSync } from "node:fs";
import type { Engine } from "./chdb.ts";
import { chdbServerLimits } from "./limits.ts";

/**
 * Checks that the engine's writes have reached its files. It treats a failed write(2) as a successful one: on a full
 * disk an INSERT or a merge makes a part of truncated files and reports no error. But it counts those failures, and
 * each start sets such parts aside. So the process ends itself at the first one, before any statement is answered.
 */
export class DiskCheck {
  readonly #engine: Engine;
  #failedAtOpen = 0;
  /** Statements that write and whose files were not checked yet. */
  #unchecked = 0;
  #current = Promise.resolve();
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** On a full disk, opening cannot write to the lock file, which nothing reads. */
  async start(): Promise<void> {
    this.#failedAtOpen = await this.#engine.failedWrites();
    // Parts that a merge replaces are kept for 45 s at least (`old_parts_lifetime`): a start within them loses nothing.
    this.#timer = setInterval(() => void this.#check().catch(() => {}), chdbServerLimits.diskCheckMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Runs a statement; resolves or rejects only when no write has failed by then. */
  async run<T>(isRead: boolean, statement: () => Promise<T>): Promise<T> {
    if (!isRead) this.#unchecked++;
    try {
      return await statement();
    } finally {
      // A read may have found rows in memory that a write under way has lost on disk.
      if (this.#unchecked > 0) await this.#check();
      if (!isRead) this.#unchecked--;
    }
  }

  /** Checks again: a check under way may be older than the failure. One check serves all that wait for it. */
  #check(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      const check = this.#checkWrites();
      this.#current = check.catch(() => {});
      this.#next = undefined;
      return check;
    });
    return this.#next;
  }

  async #checkWrites(): Promise<void> {
    if ((await this.#engine.failedWrites()) === this.#failedAtOpen) return;
    writeSync(2, "a write to the disk failed: the engine starts again without what it could not write\n");
    // A crash: an orderly end might write and delete more.
    process.kill(process.pid, "SIGKILL");
  }
}
