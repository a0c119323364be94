// Forwards a request to another process of this server, and returns its reply unchanged.

import { unavailable } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { readRequestId } from "./peer.ts";
import { problemFor } from "./problem.ts";

/** Headers that belong to one connection, not to the message. */
const ofConnection = ["connection", "keep-alive", "transfer-encoding", "upgrade", "expect", "te"];

/** Names the client's address to the other process, which believes it only where no server of its own knows better. */
export const clientAddressHeader = "x-sluice-client-address";

/**
 * @param origin http://127.0.0.1:PORT. The other process sees the Host header of the client.
 * @param readAddress the client's address.
 */
export function forwardTo(
  origin: string,
  readAddress: (request: Request) => string | undefined,
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const { method, url } = request;
      const headers = carried(request.headers);
      // A request of HTTP/1.0 may have no Host header.
      if (!headers.has("host")) headers.set("host", "localhost");
      headers.set("x-request-id", readRequestId(request));
      headers.set(clientAddressHeader, readAddress(request) ?? "");
      const reply = await fetch(`${origin}${url.startsWith("/") ? url : url.slice(url.indexOf("/", 8))}`, {
        method,
        headers,
        body: request.body,
        signal: request.signal,
        redirect: "manual",
        decompress: false,
        // The environment's proxy must not be used within this machine.
        proxy: false,
      });
      const bytes = Number(reply.headers.get("content-length") ?? 0);
      // A stream would lose its content-length.
      const isShort = bytes > 0 && bytes <= limits.replySliceBytes;
      const isWhole = isShort && method !== "HEAD" && reply.status !== notModified;
      const body = isWhole ? await reply.arrayBuffer() : reply.body;
      return new Response(body, { status: reply.status, headers: carried(reply.headers) });
    } catch {
      return problemFor(request, unavailable("This cannot be answered right now. Ask again later.", 1));
    }
  };
}

const notModified = 304;

function carried(headers: Headers): Headers {
  const copy = new Headers(headers);
  for (const name of ofConnection) copy.delete(name);
  return copy;
}
