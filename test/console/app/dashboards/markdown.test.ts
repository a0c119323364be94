// Texts of dashboards in Markdown's signs: what becomes an element, and what stays text.

import { expect, test } from "bun:test";
import { readMarkdown } from "../../../../src/console/app/dashboards/markdown.ts";

const words = (text: string) => readMarkdown(text)[0]?.lines[0];

test("headings, lists and paragraphs are blocks of their own", () => {
  const text = "# Shop\nAll of it,\nby week.\n\nSecond.\n- one\n- two\n1. first\r\n### Small";
  expect(readMarkdown(text).map(({ as, lines }) => [as, lines.length])).toEqual([
    ["h2", 1],
    ["p", 2],
    ["p", 1],
    ["ul", 2],
    ["ol", 1],
    ["h2", 1],
  ]);
});

test("emphasis, code and links of the web and of mail are marked; everything else is text", () => {
  expect(words("a **b** *c* `d` [e](https://f.example) [g](mailto:h@i.example)")).toEqual([
    { text: "a " },
    { text: "b", as: "strong" },
    { text: " " },
    { text: "c", as: "em" },
    { text: " " },
    { text: "d", as: "code" },
    { text: " " },
    { text: "e", href: "https://f.example" },
    { text: " " },
    { text: "g", href: "mailto:h@i.example" },
  ]);
  for (const text of [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,x)",
    "[x](//evil.example)",
    "[x](https ://a)",
    "** not closed",
    "![picture](x.png)",
  ])
    expect(words(text)).toEqual([{ text }]);
});

test("a text of nothing but signs is read in linear time", () => {
  for (const sign of ["[", "*", "`", "[](", "**a", "- ", "# "])
    expect(readMarkdown(sign.repeat(20_000)).length).toBeGreaterThan(0);
});
