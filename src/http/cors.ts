// CORS headers, which let web pages of any origin use the public endpoints. The management API has none.

/**
 * Headers of every reply of a public endpoint, refusals included, so that a page can read why it was refused. The
 * origin is mirrored, since `*` is not allowed with credentials.
 */
export function corsHeaders(request: Request): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null) return { vary };
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    // Without it a page cannot see how long a 503 asks it to wait.
    "access-control-expose-headers": "Retry-After",
    vary,
  };
}

/** The reply with CORS headers; applying it twice changes nothing. */
export function withCors(request: Request, response: Response): Response {
  const { headers } = response;
  for (const [name, value] of Object.entries(corsHeaders(request))) {
    if (name !== "vary") headers.set(name, value);
    else if (!headers.get(name)?.includes(value)) headers.append(name, value);
  }
  return response;
}

/** The reply to OPTIONS. Any request header is allowed, since SDKs and their users add their own. */
export function preflight(request: Request): Response {
  const headers = corsHeaders(request);
  const requested = request.headers.get("access-control-request-headers");
  if (requested) headers["access-control-allow-headers"] = requested;
  headers["access-control-allow-methods"] = "GET, POST, OPTIONS";
  headers["access-control-max-age"] = "86400";
  headers["allow"] = "GET, POST, OPTIONS";
  return new Response(null, { status: 200, headers });
}

const vary = "origin, access-control-request-method, access-control-request-headers";
