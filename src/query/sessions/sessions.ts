// Answers a SessionsQuery: sessions, as rows of the selected columns.

import { limits } from "../../core/limits.ts";
import { clickhouseTime, spanBetween } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { expressionRows, type MadeColumn, readExpressions } from "../parts/expressions.ts";
import { sqlTables } from "../sql/compile/lists/tables.ts";
import { sessionsModel, type SessionsQuery } from "./model.ts";

export const sessionsKind = queryKind({
  schema: sessionsModel,
  result: "table",
  check,
  title: () => "Sessions",
  answer: async (context, { query, attr }) => {
    const { select, where, personId, orderBy, limit, offset } = query;
    const span = spanBetween(context, query, attr);
    const list = {
      attr,
      table: "sessions",
      made,
      select,
      conditions: [
        ...(personId ? [[ofPerson, "personId"] as const] : []),
        ...(where ?? []).map((text, i) => [text, `where__${i}`] as const),
      ],
      values: { personId },
      orderBy,
      usualOrder: ["$start_timestamp", "session_id"],
      filters: { from: clickhouseTime(span.from), to: clickhouseTime(span.to), properties: [] },
    };
    const page = { limit: limit ?? limits.pageDefault, offset: offset ?? 0 };
    return { span, ...(await expressionRows(context, list, page)) };
  },
  read: readExpressions,
});

const columns = sqlTables["sessions"]!.star;

const made: Readonly<Record<string, MadeColumn>> = {
  "*": {
    reads: columns,
    cell: (...read) => Object.fromEntries(columns.map((name, i) => [name, read[i]])),
  },
};

const ofPerson = "distinct_id in (select distinct_id from person_distinct_ids where person_id = {personId})";

function check(query: SessionsQuery, attr: string) {
  return { attr, query: { ...query, filterTestAccounts: null }, filters: [] };
}
