// Receives a body whole, without a promise: nearly always it has arrived already. Nothing shows how much of it
// has arrived before all of it has, so that MemoryBudget.acquireUnseen() bounds how many are received so.

import type { Polled } from "../../core/clock.ts";
import { clientGone, clientStalled } from "./body_faults.ts";
import { uploadLimits } from "./limits.ts";
import type { MemoryBudget } from "./memory_budget.ts";

/** Time limits of an upload; tests make them smaller. */
export interface UploadBounds {
  /** The longest silence, in ms. */
  stallMsMax: number;
  /** The longest upload, in ms. */
  wholeMsMax: number;
}

export const usualBounds: UploadBounds = {
  stallMsMax: uploadLimits.stallMsMax,
  wholeMsMax: uploadLimits.wholeMsMax,
};

/** Receives a short body, or the fault upload_timeout when it does not arrive. */
export interface Receiver {
  /** The announced length of the body, in bytes. */
  readonly announced: number;
  onBody(body: Uint8Array): void;
  onFailed(fault: unknown): void;
}

/** Receives a body that was acquired by MemoryBudget.acquireUnseen(). */
export function receiveWhole(
  request: Request,
  receiver: Receiver,
  memory: MemoryBudget,
  bounds: UploadBounds = usualBounds,
): void {
  const awaited = new AwaitedBody(receiver, memory, bounds);
  // After the time limit the request was answered already.
  request.bytes().then(
    (body) => awaited.settle() && receiver.onBody(body),
    () => awaited.settle() && receiver.onFailed(clientGone()),
  );
}

class AwaitedBody implements Polled {
  readonly #receiver: Receiver;
  readonly #memory: MemoryBudget;
  readonly #msMax: number;
  /** Ticks until it is late. */
  #ticksLeft: number;

  constructor(receiver: Receiver, memory: MemoryBudget, { stallMsMax, wholeMsMax }: UploadBounds) {
    const least = uploadLimits.wholeBodyBytesPerSecondMin / 1000;
    this.#receiver = receiver;
    this.#memory = memory;
    this.#msMax = Math.min(stallMsMax + receiver.announced / least, wholeMsMax);
    this.#ticksLeft = Math.ceil(this.#msMax / uploadLimits.pollMs) + 1;
    memory.receiving.add(this);
  }

  /** False when it was settled before. */
  settle(): boolean {
    if (!this.#memory.receiving.delete(this)) return false;
    this.#memory.releaseUnseen(this.#receiver.announced);
    return true;
  }

  poll(mayRefuse: boolean): boolean {
    if (--this.#ticksLeft > 0 || !mayRefuse) return false;
    this.settle();
    this.#receiver.onFailed(clientStalled(`${Math.round(this.#msMax)} ms`));
    return true;
  }
}
