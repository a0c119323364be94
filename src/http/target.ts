// The target of a request as its client wrote it, before the runtime makes an address of it. Refuses what two readers
// could take for two addresses: dot segments, backslashes, two Host headers. Repeated slashes are one in what SDKs ask,
// and nowhere else. Never looks at methods, queries or bodies.

import { Fault } from "../core/fault.ts";
import { httpLimits } from "./limits.ts";
import { problemFor } from "./problem.ts";
import { isSdkPath, pathOf, repeatedSlashPatterns, withSingleSlashes } from "./sdk_path.ts";

type Answer = (request: Request) => Response | Promise<Response>;

/** A request as Bun's router hands it over: the segments of its path, percent-decoded, in their order. */
type RoutedRequest = Request & { params: Record<string, string> };

export interface TargetRoutes {
  routes: Record<string, (request: RoutedRequest) => Response | Promise<Response>>;
  /** For what none of `routes` takes. */
  fetch: Answer;
}

/**
 * What Bun.serve is given, so that `answer` only sees requests whose address is what their client wrote.
 *
 * `request.url` does not show it: Bun resolves `.`, `..` and their spellings with %2e, and turns `\` into `/`, before
 * any handler runs. Bun's own router matches the path as it came, so a pattern for each count of segments shows it.
 *
 * @param paths of the application; those without parameters are taken as they stand, and cost no look at segments.
 */
export function targetRoutes(paths: Iterable<string>, answer: Answer): TargetRoutes {
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
  // An empty segment elsewhere, or more of them than any address has.
  return { routes, fetch: (request) => problemFor(request, unknown) };
}

/** The same request of the address with single slashes; undefined when SDKs ask no such address. */
function singled(request: Request): Request | undefined {
  const { url } = request;
  const path = pathOf(url);
  const single = withSingleSlashes(path);
  if (!isSdkPath(single)) return undefined;
  const from = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  // Who speaks HTTP/1.0 may name no host.
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
  // One that was sent as %5C is a character of its segment, and still in the address.
  return backslashes === 0 || backslashes === url.split("?", 1)[0]!.split(/%5c/i).length - 1;
}

/** The runtime joins headers of one name by commas, which no host has. */
function namesHosts({ headers }: Request): boolean {
  return headers.get("host")?.includes(",") ?? false;
}

const notPlain = new Fault("parse_error", "The path must not have the segments . or .. or a backslash.");
const twoHosts = new Fault("parse_error", "The request must not have more than one Host header.");
const unknown = new Fault("not_found", "Endpoint not found.");
