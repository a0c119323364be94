import { expect, test } from "bun:test";
import { Check } from "typebox/schema";
import { describe as describeApi } from "../../../src/http/docs/docs.ts";
import { type JsonSchema, makeExample } from "../../../src/http/docs/example.ts";

test("an example given by the schema's author is taken", () => {
  expect(makeExample({ type: "string", examples: ["a", "b"] })).toBe("a");
  expect(makeExample({ type: "integer", default: 7 })).toBe(7);
  expect(makeExample({ enum: ["day", "hour"] })).toBe("day");
  expect(makeExample({ anyOf: [{ type: "null" }, { type: "string", format: "email" }] })).toBe(
    "someone@example.com",
  );
});

test("an example made up is one its schema takes", () => {
  const schemas: JsonSchema[] = [
    { type: "string", minLength: 10, maxLength: 12 },
    { type: "string", maxLength: 2 },
    { type: "integer", minimum: 5 },
    { type: "integer", maximum: -3 },
    { type: "number", exclusiveMinimum: 0 },
    { type: "array", items: { type: "boolean" }, minItems: 2 },
    { type: ["string", "null"], format: "uuid" },
    { allOf: [{ type: "object", properties: { a: { type: "integer" } }, required: ["a"] }] },
    { type: "object", properties: { at: { type: "string", format: "date-time" } }, required: ["at"] },
    {},
  ];
  expect(schemas.filter((schema) => !Check(schema, makeExample(schema)))).toEqual([]);
});

test("a route that hides itself is not described; one that says nothing is, barely", async () => {
  const document = await describeApi([
    { method: "GET", path: "/hidden", hooks: { detail: { hide: true } } },
    { method: "GET", path: "/things/:id/", hooks: {} },
  ]);
  expect(Object.keys(document.paths)).toEqual(["/things/{id}/"]);
  expect(document.paths["/things/{id}/"]?.["get"]?.summary).toBeUndefined();
});
