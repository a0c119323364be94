// Checks a request's target as the client wrote it, before the runtime normalizes it. Targets that two programs could
// read differently are refused: dot segments, backslashes, two Host headers. Repeated slashes are merged in paths of
// SDKs only.

import { Fault } from "../core/fault.ts";
import { httpLimits } from "./limits.ts";
import { problemFor } from "./problem.ts";
import { isSdkPath, pathOf, repeatedSlashPatterns, withSingleSlashes } from "./sdk_path.ts";

type Answer = (request: Request) => Response | Promise<Response>;

/** A request from Bun's router, with the segments of its path, percent-decoded, in order. */
type RoutedRequest = Request & { params: Record<string, string> };

export interface TargetRoutes {
  routes: Record<string, (request: RoutedRequest) => Response | Promise<Response>>;
  /** Handles what no route matches. */
  fetch: Answer;
}

/**
 * Options of Bun.serve so that `answer` receives only requests whose URL is what the client wrote.
 * Bun resolves `.`, `..` and their %2e spellings, and turns `\` into `/`, before any handler runs, so `request.url`
 * does not show them. Bun's router matches the path as it came, by one pattern for each number of segments.
 * @param paths of the application. Those without parameters match literally, and need no check of segments.
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
  // The path has an empty segment, or more segments than any route.
  return { routes, fetch: (request) => problemFor(request, unknown) };
}

/** The request with single slashes in its URL; undefined when it is not a path of SDKs. */
function singled(request: Request): Request | undefined {
  const { url } = request;
  const path = pathOf(url);
  const single = withSingleSlashes(path);
  if (!isSdkPath(single)) return undefined;
  const from = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  // A request of HTTP/1.0 may have a URL without a host.
  const host = url.slice(0, from) || "http://localhost";
  return new Request(`${host}${single}${url.slice(from + path.length)}`, request);
}

/** Whether the URL that Bun made has the same segments as the path that was sent. */
function isPlain({ params, url }: RoutedRequest): boolean {
  let backslashes = 0;
  for (const segment of Object.values(params)) {
    if (segment === "." || segment === "..") return false;
    if (segment.includes("\\")) backslashes += segment.split("\\").length - 1;
  }
  // A backslash sent as %5C is part of its segment, and the URL still has it.
  return backslashes === 0 || backslashes === url.split("?", 1)[0]!.split(/%5c/i).length - 1;
}

/** Whether there are several Host headers: the runtime joins them with commas, which no host contains. */
function namesHosts({ headers }: Request): boolean {
  return headers.get("host")?.includes(",") ?? false;
}

const notPlain = new Fault("parse_error", "The path must not have the segments . or .. or a backslash.");
const twoHosts = new Fault("parse_error", "The request must not have more than one Host header.");
const unknown = new Fault("not_found", "Endpoint not found.");
