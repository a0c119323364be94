// Names that the editor of SQL offers, by what stands before the caret.

import { expect, test } from "bun:test";
import { offeredAt } from "../../../../src/console/app/sql/completion.ts";
import { sqlWords } from "../../../../src/query/sql/words.ts";

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

test("a list has forty names at most, those first that begin with what was typed", () => {
  const many = Array.from({ length: 60 }, (_, i) => `x_price_${i}`);
  const text = "select properties.price";
  const { offers } = offeredAt(text, text.length, words, { ...names, event: [...many, "price"] });
  expect(offers).toHaveLength(40);
  expect(offers.slice(0, 2).map(({ name }) => name)).toEqual(["price", "x_price_0"]);
});
