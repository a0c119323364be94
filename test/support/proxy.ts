// A proxy before a ClickHouse: it gets statements of any length, and is silent for as long as they take.

import { later } from "./cleanup.ts";

/** Open until the test file ends. Returns the address of `upstream` with its own port. */
export function startProxy(upstream: string, answer: (request: Request) => Promise<Response>): string {
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    maxRequestBodySize: 2 ** 32,
    fetch: answer,
  });
  later(() => proxy.stop(true));
  const url = new URL(upstream);
  url.port = String(proxy.port);
  return url.href;
}
