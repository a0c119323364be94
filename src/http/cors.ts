// What lets a web page of any origin call the public endpoints, and read why it was refused. Never for anything that
// takes a personal key.

/**
 * Headers that every reply of a public endpoint carries, refusals included: a page that may not read a
 * refusal cannot say why it was refused. The origin is mirrored, since `*` is not allowed with credentials.
 */
export function corsHeaders(request: Request): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null) return { vary };
  return { "access-control-allow-origin": origin, "access-control-allow-credentials": "true", vary };
}

/** The same reply, readable by any page; once is as good as twice. */
export function withCors(request: Request, response: Response): Response {
  const { headers } = response;
  for (const [name, value] of Object.entries(corsHeaders(request))) {
    if (name !== "vary") headers.set(name, value);
    else if (!headers.get(name)?.includes(value)) headers.append(name, value);
  }
  return response;
}

/**
 * The answer to OPTIONS. Whatever headers the page wants to send are allowed: SDKs add their own, and their
 * users more.
 */
export function preflight(request: Request): Response {
  const headers = corsHeaders(request);
  const asked = request.headers.get("access-control-request-headers");
  if (asked) headers["access-control-allow-headers"] = asked;
  headers["access-control-allow-methods"] = "GET, POST, OPTIONS";
  headers["access-control-max-age"] = "86400";
  headers["allow"] = "GET, POST, OPTIONS";
  return new Response(null, { status: 200, headers });
}

const vary = "origin, access-control-request-method, access-control-request-headers";
