// Replies to refused requests: the one place where a fault's code gets a status. The text of an unexpected error is
// not shown to clients.

import { Fault, type FaultCode, faultCodes, type FaultType } from "../core/fault.ts";
import { type Log, toReason } from "../core/log.ts";
import { preflight, withCors } from "./cors.ts";
import type { Registry } from "./metrics/metrics.ts";
import { readRequestId } from "./peer.ts";
import { isForAnyOrigin, readPath } from "./sdk_path.ts";
import { isBusy, storeFault } from "./store_fault.ts";

/** The status of each type of fault, and of the codes that have another. */
const statuses: Readonly<Record<FaultType, number> & Partial<Record<FaultCode, number>>> = {
  invalid_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  upload_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  authentication_error: 401,
  permission_denied: 403,
  throttled_error: 429,
  validation_error: 400,
  server_error: 503,
  conflict: 409,
  error: 500,
};

export const problems = Object.fromEntries(
  Object.entries(faultCodes).flatMap(([type, codes]) =>
    codes.map((code) => [code, { status: statuses[code] ?? statuses[type as FaultType], type }]),
  ),
) as Readonly<Record<FaultCode, { status: number; type: FaultType }>>;

/** Set on every reply: browsers must not guess a type from a client's text in it. */
export const plainHeaders = { "x-content-type-options": "nosniff" } as const;

/**
 * The reply to a refused request: `{type, code, detail, attr}` with the headers of the fault. `more` has fields that
 * other clients expect.
 */
export function problemResponse(fault: Fault, more: Record<string, string> = {}): Response {
  const { status, type } = problems[fault.code];
  const headers = new Headers({ "content-type": "application/json", ...plainHeaders });
  if (fault.retryAfterSeconds !== undefined)
    headers.set("retry-after", String(Math.ceil(fault.retryAfterSeconds)));
  if (fault.allow !== undefined) headers.set("allow", fault.allow);
  const { code, detail, attr } = fault;
  return new Response(JSON.stringify({ type, code, detail, attr, ...more }), { status, headers });
}

interface ProblemParts {
  log: Log;
  /** Elysia's list, read only when a path is not found, to tell a wrong method from a wrong path. */
  routes: () => readonly Record<"method" | "path", string>[];
  /** Called for refused requests that would change something. */
  refused?: (code: FaultCode) => void;
  /** The fault of an unknown path, where there is a better one than not_found. */
  absent?: (path: string) => Fault | undefined;
}

export function changeRefusals(registry: Registry): (code: FaultCode) => void {
  const counters = registry.counters<FaultCode>(
    "sluice_changes_refused_total",
    "Requests to the management API other than GET that were refused, by the code of the answer.",
    "code",
  );
  return (code) => counters.of(code).add();
}

/** Makes the application's `onError`. Every failure becomes a problem reply; an unexpected one is logged too. */
export function openProblems(parts: ProblemParts) {
  const { log, refused = () => {} } = parts;
  return ({
    error,
    code,
    request,
  }: {
    error: unknown;
    code: string | number;
    request: Request;
  }): Response => {
    if (!URL.canParse(request.url)) {
      return problemFor(request, new Fault("parse_error", "The Host header names no host."));
    }
    const expected = expectedFault(error, code, request, parts);
    if (expected && request.method === "OPTIONS") {
      // A CORS preflight of a public endpoint; the request itself may be refused later.
      const isPreflight = request.headers.has("access-control-request-method");
      if (isPreflight && isForAnyOrigin(readPath(request.url))) return preflight(request);
      if (expected.code === "method_not_allowed")
        return new Response(null, { status: 204, headers: { allow: expected.allow ?? "" } });
    }
    if (expected) {
      const isChange = request.method !== "GET" && request.method !== "HEAD";
      if (isChange && readPath(request.url).startsWith("/api/")) refused(expected.code);
      return problemFor(request, expected);
    }
    const unavailable = storeFault(error);
    const path = new URL(request.url).pathname;
    const about = { path, request_id: readRequestId(request), reason: toReason(error) };
    if (unavailable) {
      // The client has left, which ended its statement: nobody reads the answer, and no store is at fault.
      if (request.signal.aborted) log.debug("a client left before its answer", about);
      else if (isBusy(error)) log.info("a request found no free permit to read", about);
      else log.warn("a request found a store unavailable", about);
      return problemFor(request, unavailable);
    }
    const stack = error instanceof Error ? error.stack : undefined;
    log.error("a request failed", { method: request.method, ...about, stack });
    return problemFor(request, new Fault("error", "A server error occurred."));
  };
}

/** The reply to a refused request, with CORS headers where pages of any origin may read it. */
export function problemFor(request: Request, fault: Fault): Response {
  const response = problemResponse(fault);
  if (!request.headers.has("origin") || !isForAnyOrigin(readPath(request.url))) return response;
  return withCors(request, response);
}

function expectedFault(error: unknown, code: string | number, request: Request, parts: ProblemParts) {
  if (error instanceof Fault) return error;
  if (code === "NOT_FOUND") return unknownEndpoint(request, parts);
  if (code === "PARSE") return new Fault("parse_error", "The body does not match its content type.");
  if (code === "VALIDATION")
    return new Fault("invalid_input", "The request does not have the expected form.");
  return undefined;
}

function unknownEndpoint(request: Request, { routes, absent }: ProblemParts): Fault {
  const { pathname } = new URL(request.url);
  const absence = request.method === "OPTIONS" ? undefined : absent?.(pathname);
  if (absence) return absence;
  const requested = splitPath(pathname);
  const methods = new Set<string>();
  for (const { method, path } of routes()) {
    if (!matches(splitPath(path), requested)) continue;
    methods.add(method);
    if (method === "GET") methods.add("HEAD");
  }
  if (methods.size === 0) return new Fault("not_found", "Endpoint not found.");
  const allow = [...methods].sort().join(", ");
  return new Fault("method_not_allowed", `Method "${request.method}" not allowed.`, { allow });
}

const splitPath = (path: string) => path.replace(/\/$/, "").split("/");

function matches(pattern: readonly string[], requested: readonly string[]): boolean {
  const depth = pattern.at(-1) === "*" ? pattern.length - 1 : undefined;
  if (depth === undefined ? pattern.length !== requested.length : requested.length < depth) return false;
  return pattern
    .slice(0, depth)
    .every((segment, i) => (segment.startsWith(":") ? requested[i] !== "" : segment === requested[i]));
}
