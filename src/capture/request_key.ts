// The project key of a request that sends no events: SDKs that ask for their configuration put it where events have it.
// Never refuses a request: one that cannot be read names no key.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { receiveBody } from "./body.ts";
import { decodeBody } from "./decode.ts";

const names = ["token", "api_key", "$token"];

/** The key in the query, or else in the body, however that is wrapped; undefined when there is none. */
export async function tokenOf(request: Request): Promise<string | undefined> {
  const query = new URL(request.url).searchParams;
  const asked = names.map((name) => query.get(name)).find((token) => token);
  if (asked) return asked;
  try {
    const inQuery = query.get("data");
    const { headers } = request;
    const wire = inQuery ? Buffer.from(inQuery) : await receiveBody(request, limits.keyBodyBytesMax);
    const { pieces } = await decodeBody(wire, {
      encoding: inQuery ? null : headers.get("content-encoding"),
      compression: query.get("compression"),
      contentType: headers.get("content-type"),
    });
    const read: unknown = JSON.parse(Buffer.concat(pieces).toString());
    if (typeof read !== "object" || read === null) return undefined;
    const members = read as Record<string, unknown>;
    return names.map((name) => members[name]).find((token) => typeof token === "string" && token !== "") as
      string | undefined;
  } catch (thrown) {
    if (thrown instanceof Fault || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
