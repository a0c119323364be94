import { expect, test } from "bun:test";
import { corsHeaders, preflight, withCors } from "../../src/http/cors.ts";

function request(headers: Record<string, string>): Request {
  return new Request("http://localhost/e/", { headers });
}

const vary = "origin, access-control-request-method, access-control-request-headers";

test("the origin is mirrored with credentials, since a star is not allowed with them", () => {
  expect(corsHeaders(request({ origin: "https://shop.example" }))).toEqual({
    "access-control-allow-origin": "https://shop.example",
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "Retry-After",
    vary,
  });
});

test("without an origin nothing is allowed, and caches still learn that it matters", () => {
  expect(corsHeaders(request({}))).toEqual({ vary });
});

test("a preflight allows whatever headers the page wants to send", () => {
  const asked = "content-encoding,content-type,x-posthog-session-id,x-of-the-users-own";
  const answer = preflight(
    request({
      origin: "null",
      "access-control-request-method": "POST",
      "access-control-request-headers": asked,
    }),
  );
  expect(answer.status).toBe(200);
  expect(answer.headers.get("access-control-allow-origin")).toBe("null");
  expect(answer.headers.get("access-control-allow-headers")).toBe(asked);
  expect(answer.headers.get("access-control-allow-methods")).toBe("GET, POST, OPTIONS");
});

test("a reply keeps its own headers, and what it varies by", () => {
  const reply = new Response("x", { headers: { vary: "accept-encoding", etag: '"1"' } });
  const { headers } = withCors(request({ origin: "http://localhost:3000" }), reply);
  expect(headers.get("vary")).toBe(`accept-encoding, ${vary}`);
  expect(headers.get("etag")).toBe('"1"');
  expect(headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
});

test("a reply that may be read already gets nothing twice", () => {
  const asked = request({ origin: "https://shop.example" });
  const { headers } = withCors(
    asked,
    withCors(asked, new Response("x", { headers: { vary: "accept-encoding" } })),
  );
  expect(headers.get("vary")).toBe(`accept-encoding, ${vary}`);
  expect(headers.get("access-control-allow-origin")).toBe("https://shop.example");
  expect(headers.get("access-control-allow-credentials")).toBe("true");
});
