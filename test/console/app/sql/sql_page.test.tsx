// The SQL page: its address is what is run, a fault is marked at its place, and an insight keeps what it is edited in.

import { afterEach, expect, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, closePage, drawPage, inDocument, refused } from "../drawn_page.tsx";

const { Sql } = await inDocument(() => import("../../../../src/console/app/sql/sql_page.tsx"));

afterEach(closePage);

const query = "POST /api/projects/7/query/";
const reply = {
  results: [
    ["2026-03-01", 2],
    ["2026-03-02", 3],
  ],
  columns: ["day", "n"],
  types: [
    ["day", "Date"],
    ["n", "UInt64"],
  ],
  hasMore: true,
  limit: 2,
  last_refresh: "2026-03-01T00:00:00Z",
};

const kindOf = ({ body }: { body: unknown }) => (body as { query: { kind: string } }).query.kind;
const field = (name: string, more: object) => ({ name, hogql_value: name, schema_valid: true, ...more });
const fields = {
  event: field("event", { type: "string" }),
  person: field("person", { type: "lazy_table", table: "persons", fields: ["created_at"] }),
};

async function drawn(asked: Record<string, string>, { [query]: answer = reply, ...more }: Answers = {}) {
  const hash = `/7/sql?${new URLSearchParams(asked)}`;
  const answers: Answers = {
    [query]: (sent) =>
      kindOf(sent) === "DatabaseSchemaQuery" ? { tables: { events: { name: "events", fields } } } : answer,
    "GET /console/assets/sql.json": { tables: {}, functions: [] },
    ...more,
  };
  return await drawPage(<Sql route={readRoute(`#${hash}`)} />, { answers, hash });
}
const ranIn = (asked: readonly { method: string; body: unknown }[]) =>
  asked
    .filter((sent) => sent.method === "POST" && kindOf(sent) !== "DatabaseSchemaQuery")
    .map(({ body }) => (body as { query: unknown }).query);

test("nothing runs until it is requested; running puts the text into the address", async () => {
  const page = await drawn({});
  expect(ranIn(page.asked)).toEqual([]);
  await page.fill("Query in SQL", "select 1");
  await page.press("Run");
  expect(new URLSearchParams(location.hash.split("?")[1]).get("query")).toBe("select 1");
});

test("an address is run when it is opened, and running it again repeats the request", async () => {
  const page = await drawn({ query: "select day, n from events" });
  expect(ranIn(page.asked)).toEqual([{ kind: "HogQLQuery", query: "select day, n from events" }]);
  expect(page.text()).toContain("2 rows, and there are more: the limit is 2");
  await page.press("Run");
  expect(ranIn(page.asked)).toHaveLength(2);
  await page.fill("Query in SQL", "select 2");
  expect(page.text()).toContain("changed since it was run");
});

test("a name of the schema is written where the caret is, in place of what is selected", async () => {
  const page = await drawn({});
  expect(page.texts(".schema li")).toEqual(["events table", "event string", "person.… of persons"]);
  const editor = page.find("textarea") as HTMLTextAreaElement;
  await page.fill("Query in SQL", "select x from events");
  editor.setSelectionRange(7, 8);
  await page.press("person.… of persons");
  expect(page.valueOf("Query in SQL")).toBe("select person. from events");
  expect(page.document.activeElement === editor).toBe(true);
});

test("numbers of a column have as many decimals, and separators where none of them can be a year", async () => {
  const columns = { columns: ["paid", "year"], types: ["Float64", "UInt16"].map((type) => ["", type]) };
  const results = [
    [1416.5, 2026],
    [52.25, 2025],
  ];
  const page = await drawn({ query: "select 1" }, { [query]: { ...reply, ...columns, results } });
  expect(page.texts("td")).toEqual(["1,416.50", "2026", "52.25", "2025"]);
});

test("rows that make no chart are a table alone", async () => {
  const page = await drawn(
    { query: "select 1" },
    {
      [query]: { ...reply, results: [["a"]], columns: ["x"], types: [["x", "String"]], hasMore: false },
    },
  );
  const tabs = [...page.document.querySelectorAll<HTMLButtonElement>('[aria-label="Shown as"] button')];
  expect(tabs.map(({ disabled }) => disabled)).toEqual([false, ...tabs.slice(1).map(() => true)]);
  expect(page.text()).toContain("1 row");
  await closePage();
  const chart = await drawn({ query: "select 1" });
  const open = [...chart.document.querySelectorAll<HTMLButtonElement>('[aria-label="Shown as"] button')];
  expect(open.some(({ disabled }) => disabled)).toBe(false);
});

test("an error is shown and highlighted, until the text changes", async () => {
  const fault = 'Unable to resolve field: "nam". (Line 1, column 8.)';
  const page = await drawn({ query: "select nam from events" }, { [query]: refused(400, fault) });
  expect(page.texts('[role="alert"]')).toEqual([fault]);
  expect(page.texts("mark.wrong")).toEqual(["nam"]);
  await page.fill("Query in SQL", "select name from events");
  expect(page.texts("mark.wrong")).toEqual([]);
});

test("an insight's query is opened and run with all that was saved of it", async () => {
  const source = { kind: "HogQLQuery", query: "select {n}", values: { n: 1 } };
  const saved = { query: { kind: "DataVisualizationNode", source, display: "ActionsBar" } };
  const page = await drawn({ insight: "5" }, { "GET /api/projects/7/insights/5/": saved });
  expect(page.valueOf("Query in SQL")).toBe("select {n}");
  expect(ranIn(page.asked)).toEqual([source]);
  expect(page.texts("h1")).toEqual(["Edit an insight"]);
  await page.press("Save changes");
  expect(page.asked.find(({ method }) => method === "PATCH")?.body).toEqual({
    query: { kind: "DataVisualizationNode", source, display: "ActionsBar" },
  });
});

test("an insight that is none is an error, and no field for it", async () => {
  const page = await drawn(
    { insight: "6" },
    { "GET /api/projects/7/insights/6/": refused(404, "Not found.") },
  );
  expect(page.texts('[role="alert"]')).toEqual(["Not found."]);
  expect(page.texts("textarea")).toEqual([]);
});
