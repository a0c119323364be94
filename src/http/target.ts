// Refuses, where requests enter, those whose target could be read in two ways (dot segments, backslashes, two Host
// headers), and gives every answer an X-Request-Id.

import { Fault } from "../core/fault.ts";
import { httpLimits } from "./limits.ts";
import { copyPeer, type PeerAddresses, requestIds } from "./peer.ts";
import { problemFor } from "./problem.ts";
import { isSdkPath, readPath, repeatedSlashPatterns, withSingleSlashes } from "./sdk_path.ts";

type Answer<R extends Request> = (request: R, server: Server) => Response | Promise<Response>;

type Server = Bun.Server<undefined>;

/** A request as Bun's router hands it over: the segments of its path, percent-decoded, in their order. */
type RoutedRequest = Request & { params: Record<string, string> };

const idHeader = "x-request-id";

/** The ids of a proxy that are safe in a log line and in a header; any other is replaced. */
const adoptable = /^[\w.:+/=@-]{1,128}$/;

/**
 * A handler whose answers carry the id of their request.
 * @param trusts whether the request came from a proxy whose X-Request-Id is adopted.
 */
export function withRequestId<R extends Request>(
  handle: Answer<R>,
  trusts: (request: R) => boolean,
): Answer<R> {
  const withIdHeader = (request: R, response: Response): Response => {
    response.headers.set(idHeader, requestIds.get(request) ?? crypto.randomUUID());
    return response;
  };
  return (request, server) => {
    const sentId = request.headers.get(idHeader);
    if (sentId !== null && adoptable.test(sentId) && trusts(request)) requestIds.set(request, sentId);
    const answer = handle(request, server);
    return answer instanceof Promise
      ? answer.then((response) => withIdHeader(request, response))
      : withIdHeader(request, answer);
  };
}

/**
 * The options of Bun.serve with which `answer` only gets requests whose address is what their client sent.
 *
 * `request.url` does not show it: Bun resolves `.`, `..` and their spellings with %2e, and turns `\` into `/`, before
 * any handler runs. Bun's own router matches the path as it came, so a pattern for each count of segments shows it.
 *
 * @param paths of the application; the segments of those without parameters need not be checked.
 * @param trusts see withRequestId.
 * @param idleTimeout seconds that a connection may be idle outside of a request of the API.
 * @param peers answers the clients that wait for 100 Continue and spell it in a way that the runtime does not know.
 */
export function targetRoutes(
  paths: Iterable<string>,
  answer: (request: Request) => Response | Promise<Response>,
  {
    trusts,
    idleTimeout,
    peers,
  }: { trusts: (request: Request) => boolean; idleTimeout: number; peers: PeerAddresses },
) {
  const answerOneHost = (request: Request, server: Server, received = request) => {
    // The runtime joins two Host headers by a comma, which no host has.
    if (request.headers.get("host")?.includes(",")) return problemFor(request, twoHosts);
    // The runtime has answered 100-continue; the expectation has no case: RFC 9110, 10.1.1.
    const expectation = request.headers.get("expect");
    if (expectation !== null && expectation !== "100-continue" && /^100-continue$/i.test(expectation))
      peers.continueUpload(received);
    if (!request.url.includes("/api/")) return answer(request);
    const asked = tableRequest(request) ?? request;
    // A question may wait and run for longer than a connection may be idle, and than the 255 s of the runtime's longest
    // timeout; rooms bound their own time.
    server.timeout(received, 0);
    return Promise.resolve(answer(asked)).finally(() => server.timeout(received, idleTimeout));
  };
  const withId = withRequestId((request, server) => answerOneHost(request, server), trusts);
  const checked = (answerPlain: Answer<RoutedRequest>) =>
    withRequestId<RoutedRequest>(
      (request, server) => (isPlain(request) ? answerPlain(request, server) : problemFor(request, notPlain)),
      trusts,
    );
  const plainPaths = checked((request, server) => answerOneHost(request, server));
  const repeatedSlashes = checked((request, server) => {
    const single = singleSlashed(request);
    return single ? answerOneHost(copyPeer(single, request), server, request) : problemFor(request, unknown);
  });
  const routes: Record<string, Answer<RoutedRequest>> = { "/": withId };
  const add = (path: string, handler: Answer<RoutedRequest>) =>
    Object.assign(routes, { [path]: handler, [`${path}/`]: handler });
  let pattern = "";
  for (let depth = 1; depth <= httpLimits.pathSegmentsMax; depth++)
    add((pattern += `/:s${depth}`), plainPaths);
  for (const path of repeatedSlashPatterns()) routes[path] = repeatedSlashes;
  for (const path of paths)
    if (!/[:*]/.test(path) && path !== "/") add(path.endsWith("/") ? path.slice(0, -1) : path, withId);
  // An empty segment elsewhere, or more segments than any address has.
  return { routes, fetch: withRequestId((request) => problemFor(request, unknown), trusts) };
}

/** PostHog's path of a list or a thing as a table: `persons.csv` is `persons/?format=csv`; undefined for others. */
function tableRequest(request: Request): Request | undefined {
  const [path = "", ...parts] = request.url.split("?");
  const query = parts.join("?");
  const [, thing] = request.method === "GET" ? (/^(.*[^/])\.csv\/?$/.exec(path) ?? []) : [];
  if (thing === undefined) return undefined;
  const host = thing.startsWith("/") ? "http://localhost" : "";
  return copyPeer(new Request(`${host}${thing}/?${query}${query && "&"}format=csv`, request), request);
}

/** A copy of the request whose path has single slashes; undefined when SDKs request no such path. */
function singleSlashed(request: Request): Request | undefined {
  const { url } = request;
  const path = readPath(url);
  const single = withSingleSlashes(path);
  if (!isSdkPath(single)) return undefined;
  const pathStart = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  // A request of HTTP/1.0 may name no host.
  const host = url.slice(0, pathStart) || "http://localhost";
  return new Request(`${host}${single}${url.slice(pathStart + path.length)}`, request);
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

const notPlain = new Fault("parse_error", "The path must not have the segments . or .. or a backslash.");
const twoHosts = new Fault("parse_error", "The request must not have more than one Host header.");
const unknown = new Fault("not_found", "Endpoint not found.");
