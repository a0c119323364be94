// A real HTTP listener on loopback that stores requests, and answers as configured.

import { later } from "./cleanup.ts";

export interface Posted {
  path: string;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface WebSink {
  url: string;
  posted: Posted[];
  /** Instead of an empty 200. */
  answer: (posted: Posted) => Response | Promise<Response>;
}

export function openWebSink(): WebSink {
  const sink: WebSink = { url: "", posted: [], answer: () => new Response("ok") };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: async (request) => {
      const body = (await request.json().catch(() => ({}))) as Record<string, unknown>;
      const posted = { path: new URL(request.url).pathname, headers: request.headers, body };
      sink.posted.push(posted);
      return await sink.answer(posted);
    },
  });
  later(() => server.stop(true));
  sink.url = `http://127.0.0.1:${server.port}`;
  return sink;
}
