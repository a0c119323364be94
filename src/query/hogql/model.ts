// The schema of a HogQLQuery.

import Type, { type Static } from "typebox";
import { choice, flag, strictModel, text } from "../../http/fields/field.ts";
import { aboutSender, anything, maybe, ofEveryQuery, unanswered, unreadFields } from "../parts/model.ts";
import { parserLimits } from "../sql/parser/limits.ts";

const named = () => maybe(Type.Record(Type.String(), Type.Unknown()));

export const hogqlModel = strictModel("HogQLQuery", {
  kind: choice(["HogQLQuery"]),
  query: text({ maxLength: parserLimits.textCharsMax }),
  values: named(),
  variables: named(),
  filters: maybe(
    strictModel("HogQLFilters", {
      dateRange: maybe(
        strictModel("HogQLDateRange", {
          date_from: maybe(text({ blank: true, maxLength: 40 })),
          date_to: maybe(text({ blank: true, maxLength: 40 })),
          explicitDate: unanswered("An explicit date"),
        }),
      ),
      properties: anything(),
      filterTestAccounts: maybe(flag()),
    }),
  ),
  explain: unanswered("Explaining a query"),
  ...unreadFields(aboutSender, "name"),
  ...ofEveryQuery,
});

export type HogQLQuery = Static<typeof hogqlModel>;
