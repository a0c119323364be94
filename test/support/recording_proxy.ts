// A proxy between an SDK and a server: notes every request as it came, and passes it on as it is.

import { later } from "./cleanup.ts";

export interface Recorded {
  method: string;
  url: URL;
  headers: Headers;
  body: Buffer;
  status: number;
  /** Milliseconds since 1970: when it came, and when it was answered. */
  from: number;
  to: number;
}

export interface RecordingProxy {
  url: string;
  /** Every answered request, in the order of the answers. */
  requests: Recorded[];
}

/** Open until the test file ends. */
export function openRecordingProxy(upstream: string): RecordingProxy {
  const requests: Recorded[] = [];
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const from = Date.now();
      const { method, headers } = request;
      const url = new URL(request.url);
      const body = Buffer.from(await request.arrayBuffer());
      const passed = new Headers(headers);
      passed.delete("host");
      const reply = await fetch(`${upstream}${url.pathname}${url.search}`, {
        method,
        headers: passed,
        redirect: "manual",
        // A compressed answer is passed on compressed.
        decompress: false,
        ...(method === "GET" || method === "HEAD" ? {} : { body }),
      });
      const answer = await reply.arrayBuffer();
      requests.push({ method, url, headers, body, status: reply.status, from, to: Date.now() });
      const answered = new Headers(reply.headers);
      answered.delete("transfer-encoding");
      return new Response(answer, { status: reply.status, headers: answered });
    },
  });
  later(() => proxy.stop(true));
  return { url: `http://127.0.0.1:${proxy.port}`, requests };
}
