import { expect, test } from "bun:test";
import { plainNullable } from "../../../src/http/docs/models.ts";

test("a nullable field is a list of types, with all of its properties", () => {
  expect(
    plainNullable({
      anyOf: [{ type: "string", format: "date-time" }, { type: "null" }],
      description: "when",
    }),
  ).toEqual({ type: ["string", "null"], format: "date-time", description: "when" });
  expect(plainNullable({ anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] })).toEqual({
    type: ["string", "null"],
    enum: ["a", null],
  });
});

test("a reference that may be null remains one, and anything may be null by itself", () => {
  expect(plainNullable({ anyOf: [{ $ref: "#/x" }, { type: "null" }], readOnly: true })).toEqual({
    oneOf: [{ $ref: "#/x" }, { type: "null" }],
    readOnly: true,
  });
  expect(plainNullable({ anyOf: [{}, { type: "null" }], default: null })).toEqual({ default: null });
});

test("other schemas stay as they are", () => {
  for (const schema of [{ type: "string" }, { anyOf: [{ type: "string" }, { type: "integer" }] }])
    expect(plainNullable(schema)).toEqual(schema);
});
