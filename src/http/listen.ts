// Binds the application to its address, and refuses requests whose target could be read in two ways: dot segments,
// backslashes, two Host headers.

import { type AnyElysia, Elysia } from "elysia";
import { sleep } from "../core/clock.ts";
import { Fault, UserError } from "../core/fault.ts";
import { httpLimits } from "./limits.ts";
import { withinMs } from "../core/deadline.ts";
import { limits } from "../core/limits.ts";
import { reasonOf } from "../core/log.ts";
import { type Peers, standsFor } from "./peer.ts";
import { plainHeaders, problemFor } from "./problem.ts";
import { isSdkPath, pathOf, repeatedSlashPatterns, withSingleSlashes } from "./sdk_path.ts";

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
    request.url.startsWith("/") ? () => handle(placed(request)) : handle,
  );
}

function placed(request: Request): Request {
  return standsFor(new Request(`http://localhost${request.url}`, request), request);
}

interface ListenOptions {
  host: string;
  port: number;
  bodyBytesMax: number;
  /** Whether other processes of this server listen on the port too; each connection then goes to one of them. */
  shared?: boolean;
  /** Gets the server, to look up addresses of clients. */
  peers?: Peers;
}

/** @throws UserError when the address cannot be bound. */
export function listen(
  app: AnyElysia,
  { host, port, bodyBytesMax, shared = false, peers }: ListenOptions,
): Listening {
  app.compile();
  const paths = app.routes.map(({ path }) => path);
  const options: Bun.Serve.Options<undefined> = {
    hostname: host,
    port,
    // With Bun's default, a second server would silently take every other connection of the first.
    reusePort: shared,
    // Bun's error page shows source code to any client.
    development: false,
    // The application refuses first, with a body that says why; Bun would send an empty 413.
    maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
    idleTimeout: httpLimits.idleSecondsMax,
    ...targetRoutes(paths, (request) => app.fetch(request)),
  };
  let server: Bun.Server<undefined>;
  try {
    server = Bun.serve(options);
  } catch (thrown) {
    throw cannotListen(host, port, thrown);
  }
  peers?.accept(server);
  const bound = server.port ?? port;
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${bound}`, port: bound, stop: () => stopServer(server) };
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
    fetch: (request) => app.fetch(request),
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
  const inUse = thrown instanceof Error && "code" in thrown && thrown.code === "EADDRINUSE";
  const why = inUse ? "it is in use; set PORT to another" : reasonOf(thrown);
  return new UserError(`cannot listen on ${host}:${port}: ${why}`);
}

type Answer = (request: Request) => Response | Promise<Response>;

/** A request as Bun's router hands it over: the segments of its path, percent-decoded, in their order. */
type RoutedRequest = Request & { params: Record<string, string> };

interface TargetRoutes {
  routes: Record<string, (request: RoutedRequest) => Response | Promise<Response>>;
  /** For all that `routes` do not take. */
  fetch: Answer;
}

/**
 * What Bun.serve is given, so that `answer` only sees requests whose address is what their client wrote.
 *
 * `request.url` does not show it: Bun resolves `.`, `..` and their spellings with %2e, and turns `\` into `/`, before
 * any handler runs. Bun's own router matches the path as it came, so a pattern for each count of segments shows it.
 *
 * @param paths of the application; the segments of those without parameters need not be checked.
 */
function targetRoutes(paths: Iterable<string>, answer: Answer): TargetRoutes {
  const known: Answer = (request) => (namesHosts(request) ? problemFor(request, twoHosts) : answer(request));
  const looked = (request: RoutedRequest) =>
    isPlain(request) ? known(request) : problemFor(request, notPlain);
  const repeated = (request: RoutedRequest) => {
    if (!isPlain(request)) return problemFor(request, notPlain);
    const single = singled(request);
    return single ? known(single) : problemFor(request, unknown);
  };
  const routes: TargetRoutes["routes"] = { "/": known };
  let pattern = "";
  for (let depth = 1; depth <= httpLimits.pathSegmentsMax; depth++) {
    pattern += `/:s${depth}`;
    routes[pattern] = looked;
    routes[`${pattern}/`] = looked;
  }
  for (const path of repeatedSlashPatterns()) routes[path] = repeated;
  for (const path of paths) {
    if (path.includes(":") || path.includes("*") || path === "/") continue;
    const bare = path.endsWith("/") ? path.slice(0, -1) : path;
    routes[bare] = known;
    routes[`${bare}/`] = known;
  }
  // An empty segment elsewhere, or more segments than any address has.
  return { routes, fetch: (request) => problemFor(request, unknown) };
}

/** The same request with single slashes in its path; undefined when SDKs request no such path. */
function singled(request: Request): Request | undefined {
  const { url } = request;
  const path = pathOf(url);
  const single = withSingleSlashes(path);
  if (!isSdkPath(single)) return undefined;
  const from = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  // A request of HTTP/1.0 may name no host.
  const host = url.slice(0, from) || "http://localhost";
  return new Request(`${host}${single}${url.slice(from + path.length)}`, request);
}

/** Whether the address that Bun made of the path has the segments that were sent. */
function isPlain({ params, url }: RoutedRequest): boolean {
  let backslashes = 0;
  for (const segment of Object.values(params)) {
    if (segment === "." || segment === "..") return false;
    if (segment.includes("\\")) backslashes += segment.split("\\").length - 1;
  }
  // A backslash that was sent as %5C is a character of its segment, and is still in the address.
  return backslashes === 0 || backslashes === url.split("?", 1)[0]!.split(/%5c/i).length - 1;
}

/** Whether there are two Host headers: the runtime joins them by a comma, which no host has. */
function namesHosts({ headers }: Request): boolean {
  return headers.get("host")?.includes(",") ?? false;
}

const notPlain = new Fault("parse_error", "The path must not have the segments . or .. or a backslash.");
const twoHosts = new Fault("parse_error", "The request must not have more than one Host header.");
const unknown = new Fault("not_found", "Endpoint not found.");
