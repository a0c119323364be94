// Receives a body in one piece, without a promise: nearly always it has arrived already. Nothing shows how much of it
// has arrived before all of it has, so that MemoryBudget.acquireUnseen() bounds how many are received so.

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
  /** Set by receiveShort(): the number of ticks until the body is late, and that time in ms. */
  ticksLeft: number;
  msMax: number;
}

/** Receives a body that was acquired by MemoryBudget.acquireUnseen(). */
export function receiveWhole(
  request: Request,
  receiver: Receiver,
  memory: MemoryBudget,
  bounds: UploadBounds = usualBounds,
): void {
  const { announced } = receiver;
  const least = uploadLimits.wholeBodyBytesPerSecondMin / 1000;
  receiver.msMax = Math.min(bounds.stallMsMax + announced / least, bounds.wholeMsMax);
  receiver.ticksLeft = ticksFor(receiver.msMax);
  waiting.set(receiver, memory);
  looking ??= setInterval(poll, uploadLimits.pollMs);
  // After the time limit the request was answered already.
  request.bytes().then(
    (body) => settle(receiver) && receiver.onBody(body),
    () => settle(receiver) && receiver.onFailed(clientGone()),
  );
}

/** Receivers whose body has not arrived. They share one timer, which runs while there are any. */
const waiting = new Map<Receiver, MemoryBudget>();
let looking: ReturnType<typeof setInterval> | undefined;

/** False when the receiver was settled before. */
function settle(receiver: Receiver): boolean {
  const memory = waiting.get(receiver);
  if (!memory) return false;
  waiting.delete(receiver);
  memory.releaseUnseen(receiver.announced);
  return true;
}

function ticksFor(ms: number): number {
  return Math.ceil(ms / uploadLimits.pollMs) + 1;
}

function poll(): void {
  let left = uploadLimits.lateAtOnceMax;
  for (const receiver of waiting.keys()) {
    if (--receiver.ticksLeft > 0 || --left < 0) continue;
    settle(receiver);
    receiver.onFailed(clientStalled(`${Math.round(receiver.msMax)} ms`));
  }
  if (waiting.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}
