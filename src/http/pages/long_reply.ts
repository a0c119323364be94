// Replies that are sent while they are read, for as long as their reader may read them.

import type { Readmit } from "../../access/gate.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import type { HeldReply, ReplyOwner } from "./held_replies.ts";

/** A reply that is sent as it is read. It is cut off, and its connection closed, once its reader is not admitted. */
export class LongReply extends Response {
  /** Undefined: who began to read may read it all. */
  #readmit: Readmit | undefined;
  readonly #held: HeldReply | undefined;
  readonly #cancel: () => void;

  /** @param held what of it is in memory, if it is there before it is read. */
  constructor(source: ReadableStream<Uint8Array>, init: ResponseInit, held?: HeldReply) {
    const reader = source.getReader();
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (this.#readmit && !(await this.#readmit())) {
        const reason = new Error("the key of this request no longer allows it");
        await reader.cancel(reason);
        throw reason;
      }
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    };
    super(
      new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 }),
      init,
    );
    this.#held = held;
    this.#cancel = () => void reader.cancel();
  }

  /** Who reads it, and whether they may go on. @throws Fault unavailable when they hold too much. */
  admit(owner: ReplyOwner, readmit?: Readmit): this {
    this.#readmit = readmit;
    try {
      this.#held?.send(owner);
    } catch (thrown) {
      this.#cancel();
      throw thrown;
    }
    return this;
  }
}

/**
 * A stream of the slices that `next` returns, until it returns undefined. `release` is called once, at the latest
 * `msMax` milliseconds after the start or after `next` last called `renew`.
 */
export function streamOf(
  next: (renew: () => void) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  release: () => void,
  msMax: number,
  ends?: AbortSignal,
): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    release();
  };
  let renew = (): void => {};
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const late = () => {
          end();
          controller.error(new Error("the reader takes too long"));
        };
        renew = () => {
          clearTimeout(timer);
          if (!ended) timer = setTimeout(late, msMax);
        };
        renew();
        ends?.addEventListener("abort", late, { once: true });
      },
      pull: async (controller) => {
        try {
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
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
