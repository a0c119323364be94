import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { Fault } from "../../src/core/fault.ts";
import { openLog, silentLog } from "../../src/core/log.ts";
import { openProblems, problemResponse, problems } from "../../src/http/problem.ts";
import { ClickHouseError } from "../../src/storage/clickhouse/clickhouse.ts";

function openApp(thrown: unknown, lines: string[] = []) {
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const app = new Elysia();
  const room = new Elysia()
    .get("/api/things/", () => {
      throw thrown;
    })
    .post("/api/things/", () => "made")
    .delete("/api/things/:id/", () => "gone")
    .get("/static/*", () => "file");
  return app.onError(openProblems({ log, routes: () => app.routes })).use(room);
}

async function ask(thrown: unknown, path: string, method = "GET", lines: string[] = []): Promise<Response> {
  return openApp(thrown, lines).handle(new Request(`http://localhost${path}`, { method }));
}

test("a fault is answered with its four members, in order", async () => {
  const reply = problemResponse(new Fault("max_length", "Too long.", { attr: "name" }));
  expect(reply.status).toBe(400);
  expect(reply.headers.get("content-type")).toBe("application/json");
  expect(await reply.text()).toBe(
    '{"type":"validation_error","code":"max_length","detail":"Too long.","attr":"name"}',
  );
});

test("statuses are those of the table", () => {
  const statuses = Object.fromEntries(Object.entries(problems).map(([code, { status }]) => [code, status]));
  expect(statuses).toMatchObject({
    parse_error: 400,
    not_authenticated: 401,
    authentication_failed: 401,
    invalid_api_key: 401,
    permission_denied: 403,
    not_found: 404,
    method_not_allowed: 405,
    upload_timeout: 408,
    conflict: 409,
    payload_too_large: 413,
    unsupported_media_type: 415,
    throttled: 429,
    error: 500,
    unavailable: 503,
    journal_share_exceeded: 503,
    changes_share_exceeded: 503,
  });
});

test("a refusal that passes says when to come back, in whole seconds", () => {
  const fault = new Fault("unavailable", "Busy.", { retryAfterSeconds: 1.2 });
  expect(problemResponse(fault).headers.get("retry-after")).toBe("2");
  expect(problemResponse(new Fault("unavailable", "Busy.")).headers.has("retry-after")).toBe(false);
});

test("a fault thrown by a route is answered as it is", async () => {
  const reply = await ask(new Fault("not_found", "Not found."), "/api/things/");
  expect(reply.status).toBe(404);
  expect(await reply.json()).toEqual({
    type: "invalid_request",
    code: "not_found",
    detail: "Not found.",
    attr: null,
  });
});

test("an unknown address is answered 404", async () => {
  const reply = await ask(undefined, "/api/nothing/");
  expect(reply.status).toBe(404);
  expect(await reply.json()).toMatchObject({ code: "not_found", detail: "Endpoint not found." });
});

test("a known address with another method is answered 405 with what it allows", async () => {
  const put = await ask(undefined, "/api/things", "PUT");
  expect(put.status).toBe(405);
  expect(put.headers.get("allow")).toBe("GET, HEAD, POST");
  expect(await put.json()).toMatchObject({ code: "method_not_allowed", detail: 'Method "PUT" not allowed.' });
  expect((await ask(undefined, "/api/things/5/", "GET")).headers.get("allow")).toBe("DELETE");
  expect((await ask(undefined, "/static/a/b.js", "POST")).headers.get("allow")).toBe("GET, HEAD");
  expect((await ask(undefined, "/api/things//", "GET")).status).toBe(404);
});

test("an unexpected error is logged with its stack and never shown", async () => {
  const lines: string[] = [];
  const reply = await ask(new Error("password=hunter2"), "/api/things/?key=secret", "GET", lines);
  expect(reply.status).toBe(500);
  const text = await reply.text();
  expect(text).toBe('{"type":"server_error","code":"error","detail":"A server error occurred.","attr":null}');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("hunter2");
  expect(lines[0]).toContain("problem.test.ts");
  expect(lines[0]).not.toContain("secret");
});

test("something thrown that is no error is a server error too", async () => {
  expect((await ask("text", "/api/things/")).status).toBe(500);
});

test("a store that is unavailable is answered 503, with the time to retry", async () => {
  for (const code of ["ECONNREFUSED", "CONNECTION_CLOSED", "57P01", "53300"]) {
    const reply = await ask(Object.assign(new Error("connect 10.0.0.5"), { code }), "/api/things/");
    expect(reply.status).toBe(503);
    expect(reply.headers.get("retry-after")).toBe("5");
    expect(await reply.text()).not.toContain("10.0.0.5");
  }
  const refused = Object.assign(new Error("duplicate key"), { code: "23505" });
  expect((await ask(refused, "/api/things/")).status).toBe(500);
});

test("only what an operator can act on is a warning: a client that left is none, nor are places that are taken", async () => {
  const levelOf = async (type: string, signal?: AbortSignal) => {
    const lines: string[] = [];
    const app = openApp(new ClickHouseError("it failed", "1", type), lines);
    await app.handle(new Request("http://localhost/api/things/", signal ? { signal } : {}));
    return lines.map((line) => (JSON.parse(line) as { level: string }).level);
  };
  expect(await levelOf("NETWORK")).toEqual(["warn"]);
  expect(await levelOf("TOO_MANY_SIMULTANEOUS_QUERIES")).toEqual(["info"]);
  expect(await levelOf("ABORTED", AbortSignal.abort())).toEqual([]);
});

test("an event store that is unavailable or overloaded is distinguished from a wrong query of ours", async () => {
  const answer = (type: string, said = "at 10.0.0.5") =>
    ask(new ClickHouseError(said, "1", type), "/api/things/");
  const away = await answer("NETWORK");
  expect(away.status).toBe(503);
  expect(away.headers.get("retry-after")).toBe("5");
  const full = await answer("MEMORY_LIMIT_EXCEEDED", "(total) memory limit exceeded: would use 9 GiB");
  expect([full.status, full.headers.get("retry-after")]).toEqual([503, "5"]);
  for (const [type, said] of [
    ["MEMORY_LIMIT_EXCEEDED", "Query memory limit exceeded: would use 60 MiB"],
    ["MEMORY_LIMIT_EXCEEDED", "Memory limit (for query) exceeded"],
    ["TOO_MANY_ROWS_OR_BYTES", "Limit for result exceeded"],
    ["TOO_SLOW", "needs about 40 CPU-seconds"],
  ] as const) {
    const big = await answer(type, said);
    expect(big.status).toBe(400);
    expect(await big.json()).toMatchObject({
      code: "invalid_input",
      detail: expect.stringContaining("Ask for less"),
    });
  }
  // The same request may be answered at rest.
  for (const type of ["TIMEOUT_EXCEEDED", "TOO_MANY_SIMULTANEOUS_QUERIES", "QUERY_WAS_CANCELLED"]) {
    const busy = await answer(type);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "5"]);
  }
  expect((await answer("UNKNOWN_IDENTIFIER")).status).toBe(500);
});

test("an event store that does not answer is distinguished from a query that takes too long", async () => {
  const silent = await ask(
    new ClickHouseError("no answer within 15000 ms", "TIMEOUT", "TIMEOUT"),
    "/api/things/",
  );
  expect([silent.status, silent.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await silent.json()).toEqual({
    type: "server_error",
    code: "unavailable",
    detail: "The event store does not answer. Please retry.",
    attr: null,
  });
});

test("routes are only looked through when a path is not found", async () => {
  let asked = 0;
  const routes = () => {
    asked += 1;
    return [];
  };
  const answer = openProblems({ log: silentLog, routes });
  const request = new Request("http://localhost/api/");
  answer({ error: new Fault("blank", "Blank."), code: "UNKNOWN", request });
  expect(asked).toBe(0);
  answer({ error: new Error("NOT_FOUND"), code: "NOT_FOUND", request });
  expect(asked).toBe(1);
});

test("Postgres' errors that another moment would not have are busy, and what lost its parent is gone", async () => {
  const answer = async (code: string) =>
    (await ask(Object.assign(new Error("x"), { code }), "/api/things/")).status;
  for (const code of ["40001", "40P01", "53100", "53200", "57014", "25006"])
    expect([code, await answer(code)]).toEqual([code, 503]);
  expect(await answer("23503")).toBe(404);
});
