// Tables: rows up to a bound with the last one always, pages of lists, and files.

import { afterEach, expect, test } from "bun:test";
import { type Columns, Pager, Table } from "../../../../src/console/app/ui/table.tsx";
import { closePage, drawPage } from "../drawn_page.tsx";

afterEach(closePage);

interface Row {
  id: string;
  n: number;
}
const columns = ({ column, numberColumn }: Columns<Row>) => [
  column("Name", ({ id }) => id),
  numberColumn("Number", ({ n }) => n),
];
const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ id: `r${n}`, n }));

test("a table has its columns in order, and without rows says so", async () => {
  const page = await drawPage(<Table caption="Rows" columns={columns} rows={rowsOf(2)} />);
  expect(page.texts("th")).toEqual(["Name", "Number"]);
  expect(page.texts("tbody tr")).toEqual(["r00", "r11"]);
  expect(page.find("table caption").textContent).toBe("Rows");
  await closePage();
  const empty = await drawPage(<Table caption="Rows" columns={columns} rows={[]} empty="Nobody." />);
  expect([empty.text(), empty.texts("table")]).toEqual(["Nobody.", []]);
});

test.each([
  [500, 500, false],
  [501, 500, true],
])("of %d rows %d are shown, and the sum beneath them always", async (count, shown, isCut) => {
  const foot = { id: "Sum", n: count };
  const page = await drawPage(<Table caption="Rows" columns={columns} rows={rowsOf(count)} foot={foot} />);
  expect(page.document.querySelectorAll("tbody tr")).toHaveLength(shown + 1);
  expect(page.texts("tbody tr").at(-1)).toBe(`Sum${count}`);
  const note = "The first 500 of 501 rows; the file has all of them.";
  expect(page.text().match(/The first .*?\./)?.[0]).toBe(isCut ? note : undefined);
});

test("a head that is too long is cut, with the whole of it at hand", async () => {
  const name = "h".repeat(91);
  const long = ({ column }: Columns<Row>) => [column(name, ({ id }) => id)];
  const page = await drawPage(<Table caption="Rows" columns={long} rows={rowsOf(1)} />);
  expect(page.texts("th")).toEqual([`${"h".repeat(89)}…`]);
  expect(page.find("th span").getAttribute("title")).toBe(name);
});

test("pages go on by their length, end at either side, and one page needs none", async () => {
  const asked: number[] = [];
  const pager = (offset: number, count = 120) => (
    <Pager offset={offset} limit={50} count={count} set={(to) => asked.push(to)} />
  );
  const first = await drawPage(pager(0));
  expect(first.texts("span")).toEqual(["1 – 50 of 120"]);
  await first.press("Previous");
  await first.press("Next");
  const last = await drawPage(pager(100));
  expect(last.texts("span")).toEqual(["101 – 120 of 120"]);
  await last.press("Next");
  await last.press("Previous");
  // An address may begin anywhere.
  const odd = await drawPage(pager(20));
  await odd.press("Previous");
  expect(asked).toEqual([50, 50, 0]);
  expect((await drawPage(pager(0, 50))).texts("nav")).toEqual([]);
});
