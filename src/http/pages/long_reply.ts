// Replies that are sent while they are read, for as long as their reader is admitted.

import type { Readmit } from "../../access/gate.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { Owner } from "../../work/fair_share.ts";
import type { HeldReply } from "./held_replies.ts";

interface LongReplySource {
  /** The next slice; undefined at the end. */
  next: (renew: () => void) => Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Called once, at the latest `msMax` milliseconds after the start or after `next` last called `renew`. */
  release: () => void;
  msMax: number;
  /** Its bytes in memory, if they are there before it is read. */
  held?: HeldReply | undefined;
}

/** A reply that is sent as it is read. It is cut off, and its connection closed, once its reader is not admitted. */
export class LongReply extends Response {
  /** Undefined: a reader who has begun may read it to its end. */
  #readmit: Readmit | undefined;
  readonly #held: HeldReply | undefined;
  readonly #end: () => void;

  constructor({ next, release, msMax, held }: LongReplySource, init: ResponseInit = {}) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      release();
    };
    let renew = (): void => {};
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      const late = (): void => {
        end();
        controller.error(new Error("the reader takes too long"));
      };
      renew = () => {
        clearTimeout(timer);
        if (!ended) timer = setTimeout(late, msMax);
      };
      renew();
      held?.ended.addEventListener("abort", late, { once: true });
    };
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const isAdmitted = !this.#readmit || (await this.#readmit());
        if (!isAdmitted) throw new Error("the key of this request no longer allows it");
        const slice = ended ? undefined : await next(renew);
        if (ended) return;
        if (slice) controller.enqueue(slice);
        else {
          end();
          controller.close();
        }
      } catch (thrown) {
        end();
        controller.error(thrown);
      }
      await yieldToEventLoop();
    };
    super(new ReadableStream({ start, pull, cancel: end }, { highWaterMark: 0 }), init);
    this.#held = held;
    this.#end = end;
  }

  /** Who reads it, and whether they may continue. @throws Fault unavailable when they hold too much. */
  admit(owner: Owner, readmit?: Readmit): this {
    // A reply of a slice or two ends before a right can be revoked.
    if (!this.#held || this.#held.bytes > limits.replySliceBytes) this.#readmit = readmit;
    try {
      this.#held?.send(owner);
    } catch (thrown) {
      this.#end();
      throw thrown;
    }
    return this;
  }
}
