// What a resource's schema says of itself, and what of it a request may send.

import { expect, test } from "bun:test";
import Type from "typebox";
import { Fault } from "../../../src/core/fault.ts";
import {
  choice,
  emptyObject,
  exactText,
  integer,
  model,
  readOnly,
  reference,
  strictModel,
  strictWritable,
  text,
  unsupported,
  variants,
  writable,
} from "../../../src/http/fields/field.ts";
import { checkFields } from "../../../src/http/fields/field_check.ts";

const thing = model("Thing", {
  id: readOnly(integer()),
  name: text({ maxLength: 5 }),
  key: exactText({ default: "k" }),
  kind: choice(["a", "b"], { default: "a" }),
  other: unsupported("There are no others.", [true]),
  nothing: emptyObject("There is nothing here."),
});

/** What the body becomes, or the code and attr of its refusal. */
function checked(schema: Parameters<typeof checkFields>[0], body: unknown): unknown {
  try {
    return checkFields(schema, body);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return [thrown.code, thrown.attr];
  }
}

test("a request has the model's fields in its order, but for those that only replies have", () => {
  const body = writable(thing);
  expect(Object.keys(body.properties)).toEqual(Object.keys(thing.properties).slice(1));
  expect(body).toMatchObject({ title: "ThingRequest" });
  expect(writable(Type.Object({ name: text() }))).not.toHaveProperty("title");
  // The model itself stays as replies show it.
  expect(thing.properties).toHaveProperty("id");
});

test("what a request leaves out has its default, and what replies show is dropped from it", () => {
  expect(checked(writable(thing), { id: 5, name: " n " })).toEqual({
    name: "n",
    key: "k",
    kind: "a",
    nothing: {},
  });
  expect(checked(writable(thing), {})).toEqual(["required", "name"]);
  expect(checked(writable(thing), { name: "n", key: " " })).toMatchObject({ key: " " });
});

test("fields without a meaning may be empty, or say that they mean nothing", () => {
  for (const other of [null, "", [], {}, true]) {
    expect(checked(writable(thing), { name: "n", other })).toMatchObject({ name: "n" });
  }
  expect(checked(writable(thing), { name: "n", other: 1 })).toEqual(["invalid_input", "other"]);
  expect(checked(writable(thing), { name: "n", nothing: { a: 1 } })).toEqual(["invalid_input", "nothing"]);
});

test("a strict body refuses other names, and drops those that a reply of ours or of PostHog's shows", () => {
  const strict = strictWritable(model("Dashboard", { id: readOnly(integer()), name: text() }));
  expect(checked(strict, { name: "n", id: 3, last_viewed_at: "x" })).toEqual({ name: "n" });
  expect(checked(strict, { name: "n", nmae: "m" })).toEqual([expect.any(String), "nmae"]);
  const bare = strictModel("Bare", { a: integer() });
  expect(checked(bare, { a: 1, id: 3 })).toEqual([expect.any(String), "id"]);
});

test("numbers are those of Postgres, and references those of its rows", () => {
  const numbers = Type.Object({ n: integer({ default: 0 }), of: Type.Optional(reference()) });
  expect(checked(numbers, { n: -2_147_483_648, of: 2_147_483_647 })).toEqual({
    n: -2_147_483_648,
    of: 2_147_483_647,
  });
  expect(checked(numbers, { n: 2_147_483_648 })).toEqual(["max_value", "n"]);
  expect(checked(numbers, { of: 0 })).toEqual(["does_not_exist", "of"]);
  // A note may tighten the bounds.
  expect(integer({ minimum: 1 })).toMatchObject({ minimum: 1, maximum: 2_147_483_647 });
});

test("variants are distinguished by one field", () => {
  const [one, two] = ["one", "two"].map((kind) => model(kind, { kind: Type.Literal(kind) }));
  expect(variants("Either", "kind", [one!, two!], { description: "d" })).toMatchObject({
    title: "Either",
    discriminator: { propertyName: "kind" },
    description: "d",
    anyOf: [{ title: "one" }, { title: "two" }],
  });
});
