// Bodies of requests whose memory was charged to a budget at their admission; one may be read ahead.

import { limits } from "../../core/limits.ts";
import type { Owner } from "../fair_share.ts";
import { MemoryBudget, type MemoryLease } from "./memory_budget.ts";
import { announcedBytes, receiveBody } from "./upload.ts";

const charges = new WeakMap<object, { memory: MemoryBudget; owner: Owner | undefined }>();
const ahead = new WeakMap<object, { body: Uint8Array; lease: MemoryLease }>();

/** From now on the memory of this request's body is acquired from `memory`, in the share of its owner once known. */
export function chargeBody(request: object, memory: MemoryBudget, owner?: Owner): void {
  charges.set(request, { memory, owner });
}

/** A lease for this request's body, unbounded when the body was not charged. @throws Fault as assign(). */
export function leaseFor(request: Request): MemoryLease {
  const unbounded = () => new MemoryBudget({ bytesMax: Infinity, shareBytesMax: Infinity });
  const { memory = unbounded(), owner } = charges.get(request) ?? {};
  const lease = memory.open(announcedBytes(request));
  if (owner !== undefined) lease.assign(owner);
  return lease;
}

/**
 * Receives a body whose sender may not be known yet; receiveSmall() then returns it again. Its memory is held until
 * releaseAhead().
 * @throws Fault as receiveSmall().
 */
export async function receiveAhead(request: Request, bytesMax: number): Promise<Uint8Array> {
  const lease = leaseFor(request);
  try {
    const body = await receiveSmall(request, lease, bytesMax);
    ahead.set(request, { body, lease });
    return body;
  } catch (thrown) {
    lease.close();
    throw thrown;
  }
}

/** Must be called when the sender is known or refused: from now on receiveSmall() acquires the memory of the body. */
export function releaseAhead(request: Request): void {
  ahead.get(request)?.lease.close();
}

/**
 * The body of a management request; what is beyond its bound is not waited for.
 * @param msMax how long it may take, in ms.
 * @throws Fault payload_too_large, unavailable when `lease` has no memory, upload_timeout when it is not here in time.
 */
export async function receiveSmall(
  request: Request,
  lease: MemoryLease,
  bytesMax: number,
  msMax: number = limits.managementBodyMsMax,
): Promise<Uint8Array> {
  const received = ahead.get(request);
  if (received) {
    ahead.delete(request);
    lease.acquire(received.body.length);
    return received.body;
  }
  const bounds = { stallMsMax: msMax, wholeMsMax: msMax };
  return await receiveBody(request, { bytesMax: bytesMax + 1, lease, bounds, isCutOff: true });
}
