// Derives the sessions of a stored segment: folds the events of its blocks here, and sends the engine the result, with
// the few events that it must read by itself.

import { type Clock, yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { cutBlock } from "../../storage/native/native_cut.ts";
import { type JournalIo, readWhole } from "../journal/journal_io.ts";
import type { Frame, Segment } from "../journal/segments/segment.ts";
import { SessionFold } from "../wasm/session_fold.ts";
import type { StrayEvent } from "../wasm/unread_events.ts";
import type { BatchSender } from "./batch_sender.ts";
import { flushLimits } from "./limits.ts";

type Sender = Pick<BatchSender, "sendBlocks" | "abandon">;

interface SessionSenderOptions {
  io: JournalIo;
  clock: Clock;
  /** Sends blocks for sessionsOfFolds; not shared. */
  folded: Sender;
  /** Sends blocks for sessionsOfBlocks; not shared. */
  unread: Sender;
  onStrays: ((strays: readonly StrayEvent[]) => void) | undefined;
}

export class SessionSender {
  readonly #options: SessionSenderOptions;
  /** The fold of the last segment: the next one needs no new memory. */
  #spare: SessionFold | undefined;
  /** Milliseconds of Clock.elapsed(). */
  #usedAt = 0;

  constructor(options: SessionSenderOptions) {
    this.#options = options;
  }

  /** Frees the fold, when nothing was derived for a while. */
  releaseIdle(): void {
    if (this.#options.clock.elapsed() - this.#usedAt >= flushLimits.foldIdleMs) this.#spare = undefined;
  }

  /** Derives the sessions of all of a segment's events; doing so again changes nothing. */
  async send(segment: Segment): Promise<void> {
    const fold = this.#spare ?? new SessionFold();
    this.#spare = undefined;
    const file = await this.#options.io.open(segment.path, "r");
    try {
      fold.begin();
      for (const frames of cutWindows(segment, fold.input.length)) {
        const [first, last] = [frames[0]!, frames.at(-1)!];
        const length = last.offset + last.length - first.offset;
        const isLong = length > fold.input.length;
        const bytes = isLong ? new Uint8Array(length) : fold.input.subarray(0, length);
        await readWhole(file, bytes, first.offset);
        if (isLong) addLong(fold, bytes, first.rows);
        else await addAll(fold, frames);
        await this.#send(segment, fold, flushLimits.foldedSentBytes);
      }
      await this.#send(segment, fold, 0);
      this.#options.onStrays?.(fold.drainStrays());
    } finally {
      this.#spare = fold;
      this.#usedAt = this.#options.clock.elapsed();
      await file.close();
    }
  }

  /** Sends what the fold has, where that is more than `bytesMax` bytes; with 0, all of it. */
  async #send({ lane }: Segment, fold: SessionFold, bytesMax: number): Promise<void> {
    const isLast = bytesMax === 0;
    if (isLast || fold.foldedBytes > bytesMax) {
      const folded = fold.drainFolded();
      if (folded.length > 0) await this.#options.folded.sendBlocks(lane, folded);
    }
    if (fold.unreadBytes <= bytesMax) return;
    const unread = fold.drainUnread();
    if (unread) await this.#options.unread.sendBlocks(lane, [unread]);
  }

  async abandon(): Promise<void> {
    await this.#options.folded.abandon();
    await this.#options.unread.abandon();
  }
}

/** The frames of a segment in the order of its file, in runs of at most `bytesMax`; a longer frame is a run alone. */
function cutWindows({ batches }: Segment, bytesMax: number): Frame[][] {
  const windows: Frame[][] = [];
  let from = 0;
  for (const frame of batches.flatMap(({ frames }) => frames).toSorted((a, b) => a.offset - b.offset)) {
    const last = windows.at(-1);
    if (last && frame.offset + frame.length - from <= bytesMax) last.push(frame);
    else {
      windows.push([frame]);
      from = frame.offset;
    }
  }
  return windows;
}

/** Folds the blocks of frames that lie side by side in the fold's memory. */
async function addAll(fold: SessionFold, frames: readonly Frame[]): Promise<void> {
  let bytes = 0;
  for (const { offset, length } of frames) {
    fold.add(offset - frames[0]!.offset, length);
    bytes += length;
    if (bytes < limits.copyBytesMax) continue;
    bytes = 0;
    await yieldToEventLoop();
  }
}

/** Folds a block that is longer than the memory, by parts. */
function addLong(fold: SessionFold, block: Uint8Array, rows: number): void {
  if (block.length <= fold.input.length) {
    fold.input.set(block);
    return fold.add(0, block.length);
  }
  if (rows === 1) throw new Error("an event is longer than all that is folded at once");
  const middle = rows >> 1;
  addLong(fold, cutBlock(block, 0, middle, {}), middle);
  addLong(fold, cutBlock(block, middle, rows, {}), rows - middle);
}
