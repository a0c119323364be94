// Binds the application to its address.

import http from "node:http";
import { type AnyElysia, Elysia } from "elysia";
import { sleep, withinMs } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { toCode, toReason } from "../core/log.ts";
import { httpLimits } from "./limits.ts";
import { copyPeer, type PeerAddresses } from "./peer.ts";
import { plainHeaders } from "./problem.ts";
import { targetRoutes, withRequestId } from "./target.ts";

export interface Listening {
  /** e.g. http://127.0.0.1:8000 */
  url: string;
  port: number;
  /** Accepts no new connections; resolves when requests in progress are answered. */
  stop(): Promise<void>;
}

/** An application that serves any Host header, even of one character, and none, as HTTP/1.0 health checks send. */
export function openApplication() {
  // By default, Elysia looks for the path after the eleventh character.
  const app = new Elysia({ handler: { standardHostname: false } }).headers(plainHeaders);
  return app.wrap((handle, request) =>
    request.url.startsWith("/")
      ? () => handle(copyPeer(new Request(`http://localhost${request.url}`, request), request))
      : handle,
  );
}

interface ListenOptions {
  host: string;
  port: number;
  bodyBytesMax: number;
  /** Seconds for which a connection may send nothing: slow uploads continue, dead clients are closed. */
  idleTimeoutSeconds: number;
  /** Whether other processes of this server listen on the port too; each connection then goes to one of them. */
  shared?: boolean;
  /** Gets the server, to look up addresses of clients. */
  peers: PeerAddresses;
  /** Whether the peer of a connection is a proxy whose request ids are adopted; see openProxies. */
  isProxy: (peer: string | undefined) => boolean;
}

/** @throws UserError when the address cannot be bound. */
export function listen(
  app: AnyElysia,
  { host, port, bodyBytesMax, idleTimeoutSeconds, shared = false, peers, isProxy }: ListenOptions,
): Listening {
  app.compile();
  const trusts = (request: Request) => isProxy(peers.of(request));
  const paths = app.routes.map(({ path }) => path);
  const idleTimeout = idleTimeoutSeconds + httpLimits.idleEarlySeconds;
  const options: Bun.Serve.Options<undefined> = {
    hostname: host,
    port,
    // With Bun's default, a second server would silently take every other connection of the first.
    reusePort: shared,
    // Bun's error page shows source code to any client.
    development: false,
    // The application refuses first, with a reason; Bun would send an empty 413.
    maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
    idleTimeout,
    ...targetRoutes(paths, (request) => app.fetch(request), { trusts, idleTimeout, peers }),
  };
  // The types of Node have it read only; the runtime uses what it is set to.
  Object.assign(http, { maxHeaderSize: httpLimits.headBytesMax });
  let server: Bun.Server<undefined>;
  try {
    server = Bun.serve(options);
  } catch (thrown) {
    throw cannotListen(host, port, thrown);
  }
  peers.accept(server);
  const bound = server.port ?? port;
  const urlHost = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${urlHost}:${bound}`, port: bound, stop: () => stopServer(server) };
}

/**
 * Checks that nobody listens on the address. Where several processes of one server share it, the system would also let
 * another program of the same user share it silently.
 * @throws UserError when the address is in use.
 */
export async function findFree(host: string, port: number): Promise<void> {
  // For port 0 the system picks a free port.
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

/** Serves the application on the loopback interface, for other processes of this server. */
export function listenInside(app: AnyElysia, bodyBytesMax: number): Listening {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: withRequestId((request) => app.fetch(request), Boolean),
    maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
    development: false,
    // The processes that call it keep their connections open.
    idleTimeout: 0,
  });
  const port = server.port ?? 0;
  return { url: `http://127.0.0.1:${port}`, port, stop: () => stopServer(server) };
}

/** Accepts no more, and resolves when the requests in flight are answered; their connections are closed in the end. */
async function stopServer(server: Bun.Server<undefined>): Promise<void> {
  await withinMs(server.stop(), limits.stopRequestsMsMax).catch(() => server.stop(true));
}

function cannotListen(host: string, port: number, thrown: unknown): UserError {
  const inUse = toCode(thrown) === "EADDRINUSE";
  const advice = `set PORT to another: PORT=${port ^ 1} bun run sluice serve`;
  const why = inUse ? `it is in use; ${advice}` : toReason(thrown);
  return new UserError(`cannot listen on ${host}:${port}: ${why}`);
}
