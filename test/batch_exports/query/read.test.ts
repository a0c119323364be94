// What a native_query may be: one SELECT over the export's model, a row for each of its rows.

import { afterAll, expect, test } from "bun:test";
import { exportLimits } from "../../../src/batch_exports/limits.ts";
import { readNativeQuery } from "../../../src/batch_exports/query/read.ts";
import { exportTables } from "../../../src/batch_exports/query/tables.ts";
import { Fault } from "../../../src/core/fault.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestParser } from "../../support/sql_parser.ts";

afterAll(cleanUp);

const { parse } = openTestParser();

async function read(text: string, model: "events" | "persons" = "events") {
  const { selected, where } = await readNativeQuery(parse, text, { model, project_id: 1 });
  return { columns: selected.map(({ alias, text: written }) => [alias, written]), where: where?.node };
}

async function refusal(text: string, model: "events" | "persons" = "events"): Promise<string> {
  try {
    return `taken: ${JSON.stringify(await read(text, model))}`;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    expect([thrown.code, thrown.attr]).toEqual(["invalid_input", "native_query"]);
    return thrown.detail;
  }
}

test("a column has its name and its text as it was written, in characters", async () => {
  expect(
    await read("select '😀' as smile, event, upper( event ) AS big from Events where event = 'x'"),
  ).toEqual({
    columns: [
      ["smile", "'😀'"],
      [undefined, "event"],
      ["big", "upper( event )"],
    ],
    where: "CompareOperation",
  });
});

test("a star is every column of the model", async () => {
  for (const model of ["events", "persons"] as const) {
    const { columns } = await read(`select * from ${model}`, model);
    expect(columns.map(([, text]) => text!)).toEqual([...exportTables[model].star]);
  }
});

test("only rows of the model are read", async () => {
  for (const [text, said] of [
    ["select 1", "must SELECT FROM events"],
    ["select 1 from persons", "must only SELECT FROM events"],
    ["select 1 from numbers(5)", "must only SELECT FROM events"],
    ["select 1 from events(5)", "must only SELECT FROM events"],
    ["select 1 from (select 1)", "Subqueries or CTEs"],
    ["with x as (select 1) select 1 from events", "Subqueries or CTEs"],
    ["select event from events where event in (select event from events)", "Subqueries or CTEs"],
    ["select (select 1) from events", "Subqueries or CTEs"],
    ["select 1 from events join persons on 1", "JOINs"],
    ["select 1 from events array join [1] as a", "JOINs"],
    ["select 1 from events union all select 1 from events", "UNIONs"],
    ["select 1 from", "Failed to parse query"],
  ] as const) {
    expect(await refusal(text)).toContain(said);
  }
});

test("what makes other rows of these is refused by its name", async () => {
  for (const [rest, name] of [
    ["group by event", "GROUP BY"],
    ["order by event", "ORDER BY"],
    ["limit 5", "LIMIT"],
    ["sample 0.1", "SAMPLE"],
    ["prewhere 1", "PREWHERE"],
    ["having 1", "HAVING"],
  ]) {
    expect(await refusal(`select event from events ${rest}`)).toContain(`${name} is not supported`);
  }
  expect(await refusal("select distinct event from events")).toContain("DISTINCT is not supported");
});

test("expressions are of one row, and bounded", async () => {
  const of = (expression: string) => refusal(`select ${expression} as x from events`);
  expect(await of("count()")).toContain("the function count is not supported");
  expect(await of("row_number() over ()")).toContain("is not supported");
  expect(await of("x -> 1")).toContain("is not supported");
  expect(await of("123456789012345678901")).toContain("a number is too large");
  expect(await of("event in (event, 'a')")).toContain("IN takes a list");
  const { columnsMax, queryPartsMax } = exportLimits;
  const columns = (count: number) => `select ${Array(count).fill("event").join(", ")} from events`;
  expect(await refusal(columns(columnsMax))).toStartWith("taken");
  expect(await refusal(columns(columnsMax + 1))).toContain(`more than ${columnsMax} columns`);
  const parts = (count: number) => of(`event in (${Array(count).fill("'a'").join(", ")})`);
  // The comparison and what it compares are parts, too.
  expect(await parts(queryPartsMax - 2)).toStartWith("taken");
  expect(await parts(queryPartsMax - 1)).toContain(`more than ${queryPartsMax} parts`);
});

test("LIKE's own escapes may stand as they are", async () => {
  const { columns } = await read(String.raw`select event like 'a\%b' as x from events`);
  expect(columns).toEqual([["x", String.raw`event like 'a\\%b'`]]);
});
