import { expect, test } from "bun:test";
import { covers, isScope, requireScopes, scopes } from "../../src/access/scope.ts";

test("a star covers every scope", () => {
  for (const scope of scopes) expect(covers(["*"], scope)).toBe(true);
});

test("write covers read of the same resource, and read does not cover write", () => {
  expect(covers(["project:write"], "project:read")).toBe(true);
  expect(covers(["project:read"], "project:write")).toBe(false);
  expect(covers(["project:write"], "person:read")).toBe(false);
});

test("a resource whose name begins like another's is not covered by it", () => {
  expect(covers(["session_recording:write"], "session_recording_playlist:read")).toBe(false);
});

test("no scopes cover nothing, and all scopes together do not make a star", () => {
  expect(covers([], "project:read")).toBe(false);
  expect(covers(scopes.slice(1), "*")).toBe(false);
});

test("a scope is a known resource with read or write, or a star", () => {
  expect(["*", "batch_export:write", "query:read"].every(isScope)).toBe(true);
  expect(["", "query", "query:delete", "nothing:read", "QUERY:read", "query:*"].some(isScope)).toBe(false);
});

test("of several scopes, the first that is missing is named", () => {
  expect(() => requireScopes(["insight:write", "query:read"], ["insight:write", "query:read"])).not.toThrow();
  expect(() => requireScopes(["insight:write"], ["insight:write", "query:read", "person:read"])).toThrow(
    "API key missing required scope 'query:read'",
  );
  expect(() => requireScopes([], [])).not.toThrow();
});
