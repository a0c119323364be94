// Answers a SessionsQuery: sessions, as rows of the selected columns.

import { choice, strictModel } from "../../http/fields/field.ts";
import { queryKind } from "../kind.ts";
import { readExpressions, timedRows } from "../parts/expressions.ts";
import { objectColumn } from "../parts/made_columns.ts";
import { timedListFields, unanswered } from "../parts/model.ts";
import { sqlTables } from "../sql/compile/lists/tables.ts";

export const sessionsKind = queryKind({
  schema: strictModel("SessionsQuery", {
    kind: choice(["SessionsQuery"]),
    ...timedListFields,
    event: unanswered("Sessions with an event"),
    eventProperties: unanswered("Sessions with an event"),
    actionId: unanswered("An action"),
    properties: unanswered("Filtering sessions by properties"),
    fixedProperties: unanswered("Filtering sessions by properties"),
    filterTestAccounts: unanswered("Leaving out the sessions of test accounts"),
  }),
  result: "table",
  check: (query, attr) => ({ attr, query: { ...query, filterTestAccounts: null }, filters: [] }),
  title: () => "Sessions",
  answer: (context, checked) =>
    timedRows(context, checked, {
      table: "sessions",
      made: { "*": objectColumn(sqlTables["sessions"]!.star) },
      compared: {
        personId: "distinct_id in (select distinct_id from person_distinct_ids where person_id = {personId})",
      },
      values: { personId: checked.query.personId },
      usualOrder: ["$start_timestamp", "session_id"],
    }),
  read: (reader, checked) => readExpressions(reader, checked),
});
