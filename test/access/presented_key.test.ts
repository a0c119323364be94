import { expect, test } from "bun:test";
import { keyInForm, keyInHeader, keyInJson, keyInQuery, keyRefusal } from "../../src/access/gate.ts";

test("a key comes after the word Bearer, with blanks around it tolerated", () => {
  expect(keyInHeader("Bearer phx_abc")?.key).toBe("phx_abc");
  expect(keyInHeader("Bearer   phx_abc  ")?.key).toBe("phx_abc");
  expect(keyInHeader("Bearer oldkeywithoutprefix")?.key).toBe("oldkeywithoutprefix");
});

test("any other header holds no key", () => {
  for (const header of [
    null,
    "",
    "Bearer",
    "Bearer ",
    "bearer phx_abc",
    "Token phx_abc",
    "phx_abc",
    "Basic eDp5",
  ]) {
    expect(keyInHeader(header)).toBeUndefined();
  }
});

test("a body holds its key in personal_api_key, as JSON or as a form", () => {
  expect(keyInJson('{"personal_api_key":" phx_abc ","name":1}')).toEqual({ key: "phx_abc", source: "body" });
  expect(keyInForm("a=1&personal_api_key=phx_abc")).toEqual({ key: "phx_abc", source: "body" });
});

test("a body that is not an object with such a text holds no key", () => {
  for (const text of ["", "{", "null", "[]", '"personal_api_key"', "{}", '{"personal_api_key":5}']) {
    expect(keyInJson(text)).toBeUndefined();
  }
  expect(keyInForm("personal_api_key=")).toBeUndefined();
});

test("a query string holds its key in personal_api_key", () => {
  expect(keyInQuery(new URLSearchParams("personal_api_key=phx_abc"))?.key).toBe("phx_abc");
  expect(keyInQuery(new URLSearchParams("key=phx_abc"))).toBeUndefined();
});

test("a wrong key is refused naming its place and not itself", () => {
  expect(keyRefusal("Authorization header")).toBe(
    "Personal API key found in request Authorization header is invalid.",
  );
  expect(keyRefusal("body")).toBe("Personal API key found in request body is invalid.");
  expect(keyRefusal("query string")).toBe("Personal API key found in request query string is invalid.");
});

test("a stranger's body that is too deep or too branched to be parsed holds no key", () => {
  const deep = `{"personal_api_key":"phx_abc","a":${"[".repeat(300)}${"]".repeat(300)}}`;
  expect(keyInJson(deep)).toBeUndefined();
  expect(keyInJson(`{"personal_api_key":"phx_abc","a":[${"{},".repeat(30_000)}1]}`)).toBeUndefined();
});
