// The field for SQL: names offered while somebody types, chosen by keys, and the highlight of an error.

import { afterEach, expect, test } from "bun:test";
import { useRef, useState } from "preact/hooks";
import { SqlEditor } from "../../../../src/console/app/sql/editor.tsx";
import { sqlWords } from "../../../../src/query/sql/words.ts";
import { closePage, type DrawnPage, drawPage } from "../drawn_page.tsx";

afterEach(closePage);

const names = { name: ["paid"], event: ["price", "product", "my price"], person: [], group: [] };
const words = sqlWords();
let value = "";
let runs = 0;

function Page({ first, more = {} }: { first: string; more?: object }) {
  const [text, setText] = useState(first);
  value = text;
  const field = useRef<HTMLTextAreaElement>(null);
  const given = {
    words,
    names,
    field,
    errorRange: undefined,
    errorId: "said",
    run: () => void runs++,
    ...more,
  };
  return <SqlEditor value={text} set={setText} {...given} />;
}

async function typed(page: DrawnPage, text: string): Promise<HTMLTextAreaElement> {
  const field = page.find("textarea") as HTMLTextAreaElement;
  field.value = text;
  field.setSelectionRange(text.length, text.length);
  await page.fill("Query in SQL", text);
  return field;
}

const offers = (page: DrawnPage) => page.texts("[role=option] span");

test("names are offered while a word is typed, and Enter puts the chosen one into the text", async () => {
  const page = await drawPage(<Page first="" />);
  const field = await typed(page, "select properties.pr");
  expect(offers(page)).toEqual(["price", "product", "my price"]);
  await page.key(field, "ArrowDown");
  expect(page.find('[aria-selected="true"]').textContent).toContain("product");
  await page.key(field, "Enter");
  expect(value).toBe("select properties.product");
  expect(offers(page)).toEqual([]);
});

test("arrows go round, and Escape offers nothing any more", async () => {
  const page = await drawPage(<Page first="" />);
  const field = await typed(page, "select properties.pr");
  await page.key(field, "ArrowUp");
  expect(field.getAttribute("aria-activedescendant")).toEndWith("-offer-2");
  await page.key(field, "Escape");
  expect(offers(page)).toEqual([]);
  expect(field.hasAttribute("aria-activedescendant")).toBe(false);
});

test("a name that is typed whole is not offered, and a name between signs is quoted", async () => {
  const page = await drawPage(<Page first="" />);
  await typed(page, "select properties.product");
  expect(offers(page)).toEqual([]);
  const field = await typed(page, "select properties.my");
  await page.key(field, "Tab");
  expect(value).toBe("select properties.`my price`");
});

test("Ctrl+Enter runs the query and Enter alone does not; Ctrl+Space offers where nothing is typed", async () => {
  runs = 0;
  const page = await drawPage(<Page first="select 1 from " />);
  const field = page.find("textarea") as HTMLTextAreaElement;
  await page.key(field, "Enter");
  expect(runs).toBe(0);
  await page.key(field, "Enter", { ctrlKey: true });
  expect(runs).toBe(1);
  field.setSelectionRange(14, 14);
  await page.key(field, " ", { ctrlKey: true });
  expect(offers(page)).toContain("events");
});

test("without the words of the language it is a field, and offers nothing", async () => {
  const page = await drawPage(<Page first="" more={{ words: undefined }} />);
  const field = await typed(page, "select properties.pr");
  await page.key(field, " ", { ctrlKey: true });
  expect(offers(page)).toEqual([]);
  expect(value).toBe("select properties.pr");
});

test("an error is selected, highlighted beneath the text, and described for screen readers", async () => {
  const page = await drawPage(
    <Page first="select nam from events" more={{ errorRange: { start: 7, end: 10 } }} />,
  );
  const field = page.find("textarea") as HTMLTextAreaElement;
  expect([field.selectionStart, field.selectionEnd]).toEqual([7, 10]);
  expect(page.texts("mark.wrong")).toEqual(["nam"]);
  expect([field.getAttribute("aria-invalid"), field.getAttribute("aria-describedby")]).toEqual([
    "true",
    "said",
  ]);
});

test.each([
  [1, 6],
  [10, 11],
  [23, 24],
  [100, 24],
])("a text of %d lines is shown in %d", async (lines, rows) => {
  const page = await drawPage(<Page first={"\n".repeat(lines - 1)} />);
  expect(page.find("textarea").getAttribute("rows")).toBe(String(rows));
});
