// The project key of a request that sends no events: SDKs put it into requests for their configuration where events
// have it. Refuses a request only when there is no memory for its body: a body that cannot be read names no key.

import { joined } from "../../core/chunks.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryBudget } from "../../work/bodies/memory_budget.ts";
import { announcedBytes, receiveBody } from "../../work/bodies/upload.ts";
import { decodeBody } from "../decode/decode.ts";
import { captureLimits } from "../limits.ts";
import { BodyScanner } from "../scan/body_scanner.ts";
import { readItemKey } from "../scan/event_index.ts";

const names = ["token", "api_key", "$token"];

/**
 * The key in the query, or else in the body, however that is wrapped; undefined when there is none.
 * @throws Fault unavailable when there is no memory for the body.
 */
export async function readRequestKey(request: Request, memory: MemoryBudget): Promise<string | undefined> {
  const query = new URL(request.url).searchParams;
  const inQuery = names.map((name) => query.get(name)).find((token) => token);
  if (inQuery) return inQuery;
  const lease = memory.open(announcedBytes(request));
  try {
    const inQuery = query.get("data");
    const wire = inQuery
      ? Buffer.from(inQuery)
      : await receiveBody(request, { bytesMax: limits.keyBodyBytesMax, lease });
    const bounds = { bytesMax: captureLimits.keyBodyInflatedBytesMax, lease };
    const { chunks } = await decodeBody(wire, { request, query }, bounds);
    return await readObjectKey(await joined(chunks));
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code !== "unavailable") return undefined;
    throw thrown;
  } finally {
    lease.close();
  }
}

/**
 * The key that is a member of the object in `bytes`, where events have it; undefined without one, or when they are no
 * such JSON. Others get their turn between slices.
 */
export async function readObjectKey(bytes: Uint8Array): Promise<string | undefined> {
  const scanner = new BodyScanner(bytes, { indexesAll: true }, 0);
  try {
    while (!scanner.advance(captureLimits.sliceBytesMax)) await yieldToEventLoop();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return undefined;
  }
  return scanner.index.shape === "event" ? readItemKey(scanner.index) : undefined;
}
