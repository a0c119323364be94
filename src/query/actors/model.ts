// The schema of an ActorsQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { aboutSender, anything, maybe, unanswered, unreadFields } from "../parts/model.ts";

const expressions = () =>
  Type.Array(text({ maxLength: queryLimits.expressionCharsMax }), {
    maxItems: queryLimits.queryColumnsMax,
  });

export const actorsModel = strictModel("ActorsQuery", {
  kind: choice(["ActorsQuery"]),
  select: maybe(expressions()),
  search: maybe(text({ blank: true, maxLength: 200 })),
  properties: anything(),
  fixedProperties: anything(),
  orderBy: maybe(expressions()),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
  source: unanswered("The persons of another query"),
  modifiers: unanswered("A modifier"),
  ...unreadFields(aboutSender, "response tags version"),
});

export type ActorsQuery = Static<typeof actorsModel>;
