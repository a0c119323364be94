// The statements that read rows for an export: of one project, in a half-open interval, with values as parameters.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { captureColumns, eventColumns, personColumns } from "../../../src/batch_exports/source/columns.ts";
import {
  copyStatement,
  countBytes,
  countExported,
  describeRows,
  type ExportSource,
  type FileLayout,
  inOrder,
  killStatement,
  sampleStatement,
  selectDays,
  selectFile,
  selectFiles,
  tagClause,
  toSelection,
} from "../../../src/batch_exports/source/store.ts";

const interval = { start: 1_000, end: 2_000 };
const events: ExportSource = {
  project_id: 7,
  model: "events",
  interval,
  moment: "created_at",
  events: { include_events: [], exclude_events: [] },
  conditions: [],
  columns: eventColumns,
  compiled: undefined,
};
const persons: ExportSource = { ...events, model: "persons", moment: "_inserted_at", columns: personColumns };
const layouts: FileLayout[] = ["lines", "columns", "texts", "harmless_texts"];
const days = ["2026-03-01"];

/** Every statement that reads rows of a source. */
function statementsOf(source: ExportSource) {
  return [
    selectDays(source),
    countExported(source, days),
    describeRows(source, days),
    ...(source.model === "persons"
      ? [copyStatement(source, "018f6d00-0000-7000-8000-000000000001", "mark")]
      : []),
    ...layouts.flatMap((layout) => {
      const selection = toSelection(source, layout, days);
      return [
        selection.select,
        countBytes(selection),
        selectFiles(selection, 3),
        selectFile(selection, 3, "1"),
        sampleStatement(selection, 5),
      ];
    }),
  ];
}

const hostile = fc.string({
  unit: fc.constantFrom("'", "\\", ")", ";", "-", "`", '"', "{", "x"),
  minLength: 4,
});

test("nothing that is requested is part of a text, and every read is of the project", () => {
  fc.assert(
    fc.property(fc.constantFrom(events, persons), hostile, (source, value) => {
      const marker = `zqxj${value}`;
      const asked: ExportSource = {
        ...source,
        events: { include_events: [marker], exclude_events: [`${marker}2`] },
        conditions: [{ text: "distinct_id = {c0:String}", params: { c0: marker } }],
      };
      for (const { text, params } of statementsOf(asked)) {
        expect(text).not.toContain("zqxj");
        if (text.includes("today()")) continue;
        expect(text).toContain("project_id = {project_id:UInt32}");
        expect(params["project_id"]).toBe(7);
        for (const [, name] of text.matchAll(/\{(\w+):\w+(?:\(\w+\))?\}/g))
          expect([name, name! in params]).toEqual([name, true]);
      }
    }),
  );
});

test("an interval begins with its first moment and ends before its last; without a start it has none", () => {
  const { text, params } = countExported(events, days);
  expect(text).toContain(
    "created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')",
  );
  expect([params["since"], params["until"]]).toEqual([1_000, 2_000]);
  const open = countExported({ ...events, interval: { ...interval, start: null } }, days);
  expect(open.text).not.toContain("{since:");
  expect("since" in open.params).toBe(false);
  expect(countExported(persons, days).text).toContain("_inserted_at >= ");
});

test("batches in the order of the key are read without persons, so that the engine need not sort them", () => {
  const { select } = toSelection({ ...events, columns: captureColumns }, "lines", days);
  expect(inOrder(select).text).toMatch(/FROM stored_events WHERE .* ORDER BY toDate\(timestamp\), event,/);
  expect(toSelection(events, "lines", days).select.text).toContain("FROM events WHERE");
});

test("persons are joined for a count only where a condition may need them", () => {
  expect(countExported(events, days).text).toContain("FROM stored_events WHERE");
  const conditions = [{ text: "1", params: {} }];
  expect(countExported({ ...events, conditions }, days).text).toContain("FROM events WHERE");
});

test("what is known of persons is read of those alone who did something in the interval", () => {
  const plain = toSelection(
    { ...events, columns: eventColumns.filter(({ name }) => name !== "person_properties") },
    "columns",
    days,
  );
  expect(plain.select.text).not.toContain("person_texts");
  const { text } = toSelection({ ...events, columns: eventColumns }, "columns", days).select;
  const [, ids] = /main_id IN \((.*)\)\) AS p USING/s.exec(text)!;
  expect(ids).toContain("created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')");
  expect(ids).toContain("toDate(timestamp) IN {days:Array(Date)}");
});

test("a line is one JSON object; a cell of a spreadsheet is no formula", () => {
  const columns = [{ name: `it's "a\\b"`, sql: "event", type: "String", json: "toJSONString(event)" }];
  const { select } = toSelection({ ...events, columns }, "lines", days);
  expect(select.text).toStartWith(
    String.raw`SELECT concat('{"it\'s \\"a\\\\b\\"":', toJSONString(event), '}') AS line `,
  );
  const texts = toSelection(
    { ...events, columns: columns.map((one) => ({ ...one, name: "a" })) },
    "harmless_texts",
    days,
  );
  expect(texts.select.text).toContain("concat(if(has(['=', '+', '-', '@', ");
  expect(toSelection({ ...events, columns }, "texts", days).select.text).not.toContain("has(['='");
  expect(texts.structure).toBe("`a` String");
});

test("the rows of all files are all rows: each is in the file of its hash", () => {
  const selection = toSelection(events, "columns", days);
  const listed = selectFiles(selection, 3);
  const one = selectFile(selection, 3, "2");
  expect(listed.text).toStartWith(
    `SELECT ${selection.identity} % {files:UInt64} AS file, count() AS rows FROM (`,
  );
  expect(one.text).toEndWith(`) WHERE ${selection.identity} % {files:UInt64} = {file:UInt64}`);
  expect([listed.params["files"], one.params["files"], one.params["file"]]).toEqual([3, 3, "2"]);
});

test("persons that were copied are read of the copy, by the attempt and the project", () => {
  const copied: ExportSource = { ...persons, copyId: "018f6d00-0000-7000-8000-000000000001" };
  const { text, params } = toSelection(copied, "columns", days).select;
  expect(text).toContain(
    "FROM exported_person_rows WHERE attempt = {copyId:UUID} AND project_id = {project_id:UInt32}",
  );
  expect(params).toEqual({ copyId: copied.copyId, project_id: 7 });
});

test("an owner's own columns and condition are around the rows of the project, not among them", () => {
  const compiled = { columns: [], where_sql: "project_id = 8 OR 1", params: { q: 1 } } as never;
  const { text, params } = toSelection(
    { ...events, compiled, columns: eventColumns.slice(0, 1) },
    "columns",
    days,
  ).select;
  expect(text).toMatch(
    /FROM \(SELECT \* FROM events WHERE project_id = \{project_id:UInt32\} AND .*\) WHERE project_id = 8 OR 1\)$/,
  );
  expect(params).toMatchObject({ q: 1, project_id: 7 });
});

test("a tag is letters, digits, blanks and dashes, and finds its statements by their settings", () => {
  expect(tagClause("export 018f-a b_c")).toBe("SETTINGS log_comment = 'export 018f-a b_c'");
  for (const tag of ["", "a'b", "a\\", "a;b", "a\n"])
    expect(() => tagClause(tag)).toThrow("letters, digits, blanks and dashes");
  const tables = { onAll: " ON CLUSTER c", local: (name: string) => name } as never;
  expect(killStatement("export a", tables)).toEqual({
    text: "KILL QUERY ON CLUSTER c WHERE Settings['log_comment'] = {tag:String} ASYNC FORMAT Null",
    params: { tag: "export a" },
  });
});

test("a backfill's interval is one of timestamps, in every clause", () => {
  const backfilled: ExportSource = { ...events, moment: "timestamp" };
  for (const { text } of [
    selectDays(backfilled),
    countExported(backfilled, days),
    toSelection(backfilled, "lines", days).select,
  ]) {
    expect(text).toContain("timestamp >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')");
    expect(text).not.toMatch(/created_at (?:>=|<)/);
  }
});
