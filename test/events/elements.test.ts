import { expect, test } from "bun:test";
import { readIdMoment } from "../../src/core/id.ts";
import { parseElementChain, parseElementList } from "../../src/events/elements.ts";
import { eventLimits } from "../../src/events/limits.ts";

const nothing = {
  text: null,
  attr_class: null,
  href: null,
  attr_id: null,
  nth_child: null,
  nth_of_type: null,
  attributes: {},
};

test("elements are read from the list that older browsers send", () => {
  const list = [
    {
      tag_name: "a",
      $el_text: "Sign up",
      classes: ["btn", "big"],
      attr__href: "/go",
      attr__id: "x",
      nth_child: 1,
      nth_of_type: 2,
    },
    { tag_name: "div", attr__class: "box wide" },
    "no element",
  ];
  expect(parseElementList(JSON.stringify(list))).toEqual([
    {
      text: "Sign up",
      tag_name: "a",
      attr_class: ["btn", "big"],
      href: "/go",
      attr_id: "x",
      nth_child: 1,
      nth_of_type: 2,
      attributes: { attr__href: "/go", attr__id: "x" },
      order: 0,
    },
    {
      ...nothing,
      tag_name: "div",
      attr_class: ["box", "wide"],
      attributes: { attr__class: "box wide" },
      order: 1,
    },
    { ...nothing, tag_name: null, order: 2 },
  ]);
  expect(parseElementList("")).toEqual([]);
  expect(parseElementList('{"a":1}')).toEqual([]);
});

test("elements are read from the chain that newer browsers send", () => {
  const chain =
    'a.btn.md:flex:attr__href="/go;now"href="/go;now"nth-child="1"nth-of-type="2"text="Say \\"hi\\"";div:attr_id="x";body';
  expect(parseElementChain(chain)).toEqual([
    {
      text: 'Say "hi"',
      tag_name: "a",
      attr_class: ["btn", "md:flex"],
      href: "/go;now",
      attr_id: null,
      nth_child: 1,
      nth_of_type: 2,
      attributes: { attr__href: "/go;now" },
      order: 0,
    },
    { ...nothing, tag_name: "div", attr_id: "x", order: 1 },
    { ...nothing, tag_name: "body", order: 2 },
  ]);
  expect(parseElementChain("")).toEqual([]);
});

test("a chain that is none, or far too long, ends", () => {
  const { elementsMax } = eventLimits;
  expect(parseElementChain(";".repeat(100_000))).toHaveLength(elementsMax);
  expect(parseElementChain(`a:b="${"\\".repeat(300_000)}`)).toHaveLength(1);
  expect(parseElementChain(`a${":".repeat(200_000)}`)).toHaveLength(1);
  expect(parseElementList(JSON.stringify(Array.from({ length: 1000 }, () => ({}))))).toHaveLength(
    elementsMax,
  );
});

test("a UUIDv7 says when it was made, others do not", () => {
  expect(readIdMoment("018d0000-0000-7000-8000-000000000000")).toBe(0x018d00000000);
  const now = Date.now();
  expect(Math.abs(readIdMoment(Bun.randomUUIDv7())! - now)).toBeLessThan(10_000);
  expect(readIdMoment(crypto.randomUUID())).toBeUndefined();
});
