// Opens the door: binds the application to its address. Decides nothing about what is answered.

import { type AnyElysia, Elysia } from "elysia";
import { sleep } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { httpLimits } from "./limits.ts";
import { limits } from "../core/limits.ts";
import { reasonOf } from "../core/log.ts";
import { type Peers, standsFor } from "./peer.ts";
import { plainHeaders } from "./problem.ts";
import { targetRoutes } from "./target.ts";

export interface Listening {
  /** e.g. http://127.0.0.1:8000 */
  url: string;
  port: number;
  /** Accepts nothing new; resolves when what is in flight has its answer. */
  stop(): Promise<void>;
}

/** An application that is found by any name: of one letter, too, or of none, as health checks of HTTP/1.0 ask. */
export function openApplication() {
  // Elysia's default looks for the path behind the eleventh character.
  const app = new Elysia({ handler: { standardHostname: false } }).headers(plainHeaders);
  return app.wrap((handle, request) =>
    request.url.startsWith("/") ? () => handle(placed(request)) : handle,
  );
}

/** The same request with an address that is whole. */
function placed(request: Request): Request {
  return standsFor(new Request(`http://localhost${request.url}`, request), request);
}

export interface ListenOptions {
  host: string;
  port: number;
  bodyBytesMax: number;
  /** Other processes of this server listen there as well: each connection goes to one of them. */
  shared?: boolean;
  /** Told of the server, for those who ask who is at the other end. */
  peers?: Peers;
}

/** @throws UserError when the address cannot be had. */
export function listen(
  app: AnyElysia,
  { host, port, bodyBytesMax, shared = false, peers }: ListenOptions,
): Listening {
  app.compile();
  const paths = app.routes.map(({ path }) => path);
  const server = bind(host, port, {
    hostname: host,
    port,
    // Bun's default would let a second server take every other connection of the first one, silently.
    reusePort: shared,
    // Bun's page for programmers shows source text to whoever asks.
    development: false,
    // Ours answers first, with a body that says why; Bun's own would be an empty 413.
    maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
    idleTimeout: httpLimits.idleSecondsMax,
    ...targetRoutes(paths, (request) => app.fetch(request)),
  });
  peers?.accept(server);
  const bound = server.port ?? port;
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${bound}`, port: bound, stop: () => server.stop() };
}

/** @throws UserError when the address cannot be had. */
function bind(host: string, port: number, options: Bun.Serve.Options<undefined>): Bun.Server<undefined> {
  try {
    return Bun.serve(options);
  } catch (thrown) {
    throw cannotListen(host, port, thrown);
  }
}

/**
 * Makes sure that nobody listens where this server is going to. Where several processes of one server listen, the
 * system would let a stranger of the same user share the port, silently.
 * @throws UserError when somebody does.
 */
export async function findFree(host: string, port: number): Promise<void> {
  // The system gives out no port that somebody has.
  if (port === 0) return;
  for (let waited = 0; ; waited += againMs) {
    try {
      await Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() }).stop(true);
      return;
    } catch (thrown) {
      if (waited >= httpLimits.portMsMax) throw cannotListen(host, port, thrown);
      await sleep(againMs);
    }
  }
}

const againMs = 100;

/** Answers the same on the loopback device, for other processes of this server. */
export function listenInside(app: AnyElysia, bodyBytesMax: number): Listening {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => app.fetch(request),
    maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
    development: false,
    // Kept open by who asks, for as long as it lives.
    idleTimeout: 0,
  });
  const port = server.port ?? 0;
  return { url: `http://127.0.0.1:${port}`, port, stop: () => server.stop() };
}

function cannotListen(host: string, port: number, thrown: unknown): UserError {
  const inUse = thrown instanceof Error && "code" in thrown && thrown.code === "EADDRINUSE";
  const why = inUse ? "it is in use; set PORT to another" : reasonOf(thrown);
  return new UserError(`cannot listen on ${host}:${port}: ${why}`);
}
