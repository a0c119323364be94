// Hands a request to another process of this server, and its answer back, byte for byte. Decides nothing, and asks
// nobody but that process.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { problemResponse } from "./problem.ts";

/** Headers of one connection, not of what it carries. */
const ofConnection = ["connection", "keep-alive", "transfer-encoding", "upgrade", "expect", "te"];

/** `origin`: http://127.0.0.1:PORT. The other process sees the host its client asked for. */
export function forwardTo(origin: string): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const { method, url } = request;
      const headers = carried(request.headers);
      // Who speaks HTTP/1.0 may name no host.
      if (!headers.has("host")) headers.set("host", "localhost");
      const reply = await fetch(`${origin}${url.startsWith("/") ? url : url.slice(url.indexOf("/", 8))}`, {
        method,
        headers,
        body: request.body,
        signal: request.signal,
        redirect: "manual",
        decompress: false,
        // Whatever proxy the environment names is none for what stays within this machine.
        proxy: false,
      });
      const body = isShort(reply, method) ? await reply.arrayBuffer() : reply.body;
      return new Response(body, { status: reply.status, headers: carried(reply.headers) });
    } catch {
      const detail = "This cannot be answered right now. Ask again later.";
      return problemResponse(new Fault("unavailable", detail, { retryAfterSeconds: 1 }));
    }
  };
}

/** Whether it has a body that is worth no stream, whose length would not be told. */
function isShort({ headers, status }: Response, method: string): boolean {
  const bytes = Number(headers.get("content-length") ?? 0);
  return bytes > 0 && bytes <= limits.replySliceBytes && method !== "HEAD" && status !== notModified;
}

const notModified = 304;

function carried(headers: Headers): Headers {
  const copy = new Headers(headers);
  for (const name of ofConnection) copy.delete(name);
  return copy;
}
