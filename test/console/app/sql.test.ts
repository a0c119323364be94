// What the SQL page computes by itself: the names it offers, the place of a fault, what is saved, what a chart is made of.

import { expect, test } from "bun:test";
import { chartRowsOf } from "../../../src/console/app/explore/rows/cells.ts";
import { parsedJson } from "../../../src/console/app/session/api.ts";
import { offeredAt } from "../../../src/console/app/sql/completion.ts";
import { nodeWith, placeIn, savedSqlOf, sourceWith } from "../../../src/console/app/sql/sql_query.ts";
import { csvOf, tsvOf } from "../../../src/console/app/ui/csv.ts";
import { inkAt } from "../../../src/console/app/ui/ink.ts";
import { sqlWords } from "../../../src/query/sql/words.ts";

const words = sqlWords();
const names = {
  name: ["$pageview", "it's paid", "paid"],
  event: ["$browser", "price", "my price"],
  person: ["email", "plan"],
  group: ["seats"],
};

/** What is offered where `|` stands, and the text that it replaces. */
function offered(marked: string) {
  const caret = marked.indexOf("|");
  const text = marked.replace("|", "");
  const { from, offers } = offeredAt(text, caret, words, names);
  return { replaced: text.slice(from, caret), first: offers[0]?.text, texts: offers.map((one) => one.text) };
}

test("names are offered by what stands before them", () => {
  expect(offered("select coun|")).toMatchObject({ replaced: "coun", first: "count(" });
  expect(offered("select 1 from per|").texts).toEqual(["persons", "person_distinct_ids"]);
  expect(offered("select times| from events").first).toBe("timestamp");
  expect(offered("select properties.pri| from events")).toMatchObject({ replaced: "pri", first: "price" });
  expect(offered("select properties.my| from events").texts).toEqual(["`my price`"]);
  expect(offered("select person.properties.| from events").texts).toEqual(names.person);
  expect(offered("select e.person.properties.em| from events as e").first).toBe("email");
  expect(offered("select p.properties.| from persons p").texts).toEqual(names.person);
  expect(offered("select session.$entry_p| from events").first).toBe("$entry_pathname");
  expect(offered("select nobody.x| from events").texts).toEqual([]);
  expect(offered("select properties.price.| from events").texts).toEqual([]);
});

test("within quotes, names of events are offered where one is compared, and nothing elsewhere", () => {
  expect(offered("select 1 from events where event = 'pa|")).toMatchObject({
    replaced: "pa",
    texts: ["paid", "$pageview", "it''s paid"],
  });
  expect(offered("where event in ('paid', '|').").texts).toEqual([]);
  expect(offered("where event in ('|").texts).toHaveLength(3);
  expect(offered("where properties.plan = 'sel|").texts).toEqual([]);
});

test("a fault is marked at its word, in characters as people count them", () => {
  const text = "select 1,\n  '😀', nam from events";
  const place = placeIn('Unable to resolve field: "nam". (Line 2, column 8.)', text)!;
  expect(text.slice(place.start, place.end)).toBe("nam");
  expect(placeIn("A function has too many arguments.", text)).toBeUndefined();
  expect(placeIn("It ends too early. (Line 9, column 90.)", text)).toEqual({
    start: text.length,
    end: text.length,
  });
});

test("what else was saved of a query stays when its text is changed", () => {
  const source = { kind: "HogQLQuery", query: "select 1", values: { a: 1 } };
  const node = {
    kind: "DataVisualizationNode",
    source,
    display: "ActionsBar",
    chartSettings: { goalLines: [] },
  };
  const saved = savedSqlOf(node)!;
  expect(saved).toMatchObject({ text: "select 1", display: "ActionsBar" });
  const changed = { ...source, query: "select 2" };
  expect(sourceWith(saved, "select 2")).toEqual(changed);
  expect(nodeWith(saved, "select 2", "ActionsTable")).toEqual({
    ...node,
    source: changed,
    display: "ActionsTable",
  });
  const bare = savedSqlOf(source);
  expect(nodeWith(bare, "select 2", "ActionsTable")).toEqual({
    kind: "DataVisualizationNode",
    source: changed,
    display: "ActionsTable",
  });
  expect(savedSqlOf({ kind: "InsightVizNode", source: { kind: "TrendsQuery" } })).toBeUndefined();
});

test("a chart is made of a time or a text and numbers, and of nothing else", () => {
  const types = ["Date", "UInt64", "Nullable(Float64)"];
  const rows = [
    ["2026-02-02", 2, null],
    ["2026-02-01", 1, 0.5],
  ];
  expect(chartRowsOf(["day", "n", "mean"], types, rows)).toEqual({
    isTime: true,
    names: ["2026-02-01", "2026-02-02"],
    series: [
      { label: "n", values: [1, 2] },
      { label: "mean", values: [0.5, null] },
    ],
  });
  const parted = [
    ["2026-02-01", "a", 1],
    ["2026-02-01", "", 2],
    ["2026-02-02", "a", 3],
  ];
  expect(chartRowsOf(["day", "plan", "n"], ["DateTime64(6, 'UTC')", "String", "UInt64"], parted)).toEqual({
    isTime: true,
    names: ["2026-02-01", "2026-02-02"],
    series: [
      { label: "a", values: [1, 3] },
      { label: "(empty)", values: [2, null] },
    ],
  });
  const twice = [rows[0]!, rows[0]!];
  expect(chartRowsOf(["day", "n", "mean"], types, twice)).toBeUndefined();
  expect(chartRowsOf(["n"], ["UInt64"], [[1]])).toBeUndefined();
  expect(chartRowsOf(["a", "b"], ["String", "Array(String)"], [["a", []]])).toBeUndefined();
  expect(chartRowsOf(["day", "n"], ["Date", "UInt64"], [])).toBeUndefined();
});

test("a file for spreadsheets holds texts as texts, and never a formula", () => {
  const rows = [
    ['a "b", c', null, 1.5],
    ["=1+1", { a: 1 }, -2],
    [" x", true, undefined],
  ];
  expect(csvOf(["name", "b", "c"], rows)).toBe(
    'name,b,c\r\n"a ""b"", c",,1.5\r\n\'=1+1,"{""a"":1}",-2\r\n" x",true,\r\n',
  );
  expect(tsvOf(["name", "b\tc"], [["two\r\nlines", "=1"]])).toBe("name\tb c\ntwo lines\t'=1\n");
});

test("a number that JavaScript would round is its text", () => {
  expect(
    parsedJson('[12345678901234567890, 1234567890123456, "1234567890123456789", 1.1234567890123456789]'),
  ).toEqual(["12345678901234567890", 1234567890123456, "1234567890123456789", 1.1234567890123457]);
});

/** WCAG's contrast of a colour `#rrggbb` with a background. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [r, g, b] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const [high, low] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (high! + 0.05) / (low! + 0.05);
}

test("colours of a chart do not repeat, and stand out from the background", () => {
  for (const [isDark, ground] of [
    [false, "#ffffff"],
    [true, "#181c22"],
  ] as const) {
    const inks = Array.from({ length: 226 }, (_, i) => inkAt(i, isDark));
    expect(new Set(inks).size).toBe(inks.length);
    expect(inks.filter((ink) => contrast(ink, ground) < 3)).toEqual([]);
  }
});
