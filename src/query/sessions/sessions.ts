// Answers a SessionsQuery: sessions, as rows of the selected columns.

import { refuseInput } from "../../core/fault.ts";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import { haveTypes } from "../../storage/events/property_filter.ts";
import { spanBetween, zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { readExpressions, timedRows } from "../parts/expressions.ts";
import { readNodeFilters } from "../parts/figure.ts";
import { displayNameText, objectColumn, readSelect } from "../parts/made_columns.ts";
import { anything, maybe, timedListFields, unanswered } from "../parts/model.ts";
import { sqlTables } from "../sql/compile/lists/tables.ts";

/** The last year that the engine has dates of. */
const lastYear = 2299;

export const sessionsKind = queryKind({
  schema: strictModel("SessionsQuery", {
    kind: choice(["SessionsQuery"]),
    ...timedListFields,
    event: maybe(text({ blank: true })),
    eventProperties: unanswered("Sessions with an event's property"),
    actionId: unanswered("An action"),
    properties: anything(),
    fixedProperties: anything(),
    filterTestAccounts: unanswered("Leaving out the sessions of test accounts"),
  }),
  result: "table",
  check: (query, attr) => {
    const filters = readNodeFilters(query, attr);
    if (!haveTypes(filters, ["session", "person"]))
      refuseInput("Sessions are filtered by properties of sessions and persons only.", `${attr}__properties`);
    return { attr, query: { ...query, select: readSelect(query), filterTestAccounts: null }, filters };
  },
  title: () => "Sessions",
  answer: (context, checked) => {
    const { personId, event } = checked.query;
    const { from, to } = spanBetween(context, checked.query, checked.attr);
    // Sessions are of a day at most.
    const until = zonedIso(to.year < lastYear ? to.add({ hours: 24 }) : to);
    return timedRows(context, checked, {
      table: "sessions",
      made: { "*": objectColumn(sqlTables["sessions"]!.star), person_display_name },
      compared: {
        personId: "distinct_id in (select distinct_id from person_distinct_ids where person_id = {personId})",
        event: `session_id in (select $session_id from events where event = {event}
          and timestamp >= {from} and timestamp < {until})`,
      },
      values: { personId, event: event || undefined, from: zonedIso(from), until },
      usualOrder: ["$start_timestamp", "session_id"],
    });
  },
  read: (reader, checked) => readExpressions(reader, checked),
});

const person_display_name = objectColumn({
  display_name: displayNameText("person.properties", "distinct_id"),
  id: "person.id",
  distinct_id: "distinct_id",
});
