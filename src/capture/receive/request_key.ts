// The project key of a request that sends no events: SDKs that ask for their configuration put it where events have it.
// Refuses a request only when there is no memory for its body: one that cannot be read names no key.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { receiveLimits } from "./limits.ts";
import type { MemoryBudget } from "../../work/memory_budget.ts";
import { joined } from "../../core/chunks.ts";
import { receiveBody } from "./upload.ts";
import { decodeBody } from "../decode/decode.ts";
import { keyOfObject } from "./first_key.ts";

const names = ["token", "api_key", "$token"];

/**
 * The key in the query, or else in the body, however that is wrapped; undefined when there is none.
 * @throws Fault unavailable when there is no memory for the body.
 */
export async function requestKeyOf(request: Request, memory: MemoryBudget): Promise<string | undefined> {
  const query = new URL(request.url).searchParams;
  const asked = names.map((name) => query.get(name)).find((token) => token);
  if (asked) return asked;
  const lease = memory.open();
  try {
    const inQuery = query.get("data");
    const { headers } = request;
    const wire = inQuery
      ? Buffer.from(inQuery)
      : await receiveBody(request, { bytesMax: limits.keyBodyBytesMax, lease });
    const hints = {
      encoding: inQuery ? null : headers.get("content-encoding"),
      compression: query.get("compression"),
      contentType: headers.get("content-type"),
    };
    const { pieces } = await decodeBody(wire, hints, {
      bytesMax: receiveLimits.keyBodyInflatedBytesMax,
      lease,
    });
    return await keyOfObject(await joined(pieces));
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code !== "unavailable") return undefined;
    throw thrown;
  } finally {
    lease.close();
  }
}
