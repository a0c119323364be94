// Members put into raw objects: what they mean afterwards, and that nothing else changes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { Splice } from "../../../src/capture/v1/splice.ts";

const always = '"$lib":"sdk","$lib_version":"1"';

/** `text` with a session id and what always goes in; `looks`: whether it may be told that none of the names is there. */
function spliced(text: string, session?: string): string {
  const source = Buffer.from(text);
  const splice = new Splice(source, always);
  splice.search(0, source.length);
  if (session !== undefined) splice.add("$session_id", session);
  const out = Buffer.alloc(source.length + Buffer.byteLength(session ?? "") + 256, 1);
  return out.toString("utf8", 0, splice.write(0, source.length, out, 0));
}

test("all of an object stays byte for byte, and the members come behind", () => {
  expect(spliced("{}")).toBe(`{${always}}`);
  expect(spliced("{\n\t}")).toBe(`{\n\t${always}}`);
  expect(spliced(`{ "a" : [ 1.0 ] , "b":"\\u0024lib" }`)).toBe(
    `{ "a" : [ 1.0 ] , "b":"\\u0024lib" ,${always}}`,
  );
  expect(spliced(`{"a":1}`, `"s"`)).toBe(`{"a":1,"$session_id":"s",${always}}`);
  expect(spliced("null")).toBe(`{${always}}`);
});

test("a member of the same name gives way, wherever it stands; names deeper down and in texts stay", () => {
  expect(spliced(`{"$lib":1}`)).toBe(`{${always}}`);
  expect(spliced(`{"$lib":{"a":[]},"a":1}`)).toBe(`{"a":1,${always}}`);
  expect(spliced(`{"a":1 , "$lib":2,"$lib":3 }`)).toBe(`{"a":1,${always}}`);
  expect(spliced(`{"$session_id":"old"}`)).toBe(`{"$session_id":"old",${always}}`);
  expect(spliced(`{"$session_id":"old"}`, `"new"`)).toBe(`{"$session_id":"new",${always}}`);
  expect(spliced(`{"a":{"$lib":1},"b":"\\"$lib\\":","$libs":2}`)).toBe(
    `{"a":{"$lib":1},"b":"\\"$lib\\":","$libs":2,${always}}`,
  );
});

test("what is no object is written as it is, and puts nothing into the next one", () => {
  for (const text of ["[]", "7", '"text"', "true"]) expect(spliced(text, `"s"`)).toBe(text);
  const source = Buffer.from(`[]{"a":1}`);
  const splice = new Splice(source, "");
  const out = Buffer.alloc(64);
  splice.add("$session_id", `"s"`);
  expect(out.toString("utf8", 0, splice.write(0, 2, out, 0))).toBe("[]");
  expect(out.toString("utf8", 0, splice.write(2, 9, out, 0))).toBe(`{"a":1}`);
});

test("any object means the same afterwards, but for the members that were put", () => {
  const key = fc.oneof(fc.constantFrom("$lib", "$lib_version", "$session_id", "$libs", "a"), fc.string());
  const object = fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true });
  fc.assert(
    fc.property(
      object,
      fc.constantFrom(undefined, 1, "\t"),
      fc.option(fc.string()),
      (properties, space, session) => {
        const text = JSON.stringify(properties, null, space);
        const put = { ...(session !== null && { $session_id: session }), $lib: "sdk", $lib_version: "1" };
        const raw = session === null ? undefined : JSON.stringify(session);
        const expected = { ...(JSON.parse(text) as object), ...put };
        expect(JSON.parse(spliced(text, raw))).toEqual(expected);
      },
    ),
    { numRuns: 500, seed: 1 },
  );
});
