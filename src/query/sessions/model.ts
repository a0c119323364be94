// The schema of a SessionsQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel, text, uuid } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { aboutSender, maybe, unanswered, unreadFields } from "../parts/model.ts";

const expressions = (minItems = 0) =>
  Type.Array(text({ maxLength: queryLimits.expressionCharsMax }), {
    minItems,
    maxItems: queryLimits.queryColumnsMax,
  });

export const sessionsModel = strictModel("SessionsQuery", {
  kind: choice(["SessionsQuery"]),
  select: expressions(1),
  where: maybe(expressions()),
  personId: maybe(uuid()),
  after: maybe(text({ blank: true, maxLength: 40 })),
  before: maybe(text({ blank: true, maxLength: 40 })),
  orderBy: maybe(expressions()),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
  event: unanswered("Sessions with an event"),
  eventProperties: unanswered("Sessions with an event"),
  actionId: unanswered("An action"),
  properties: unanswered("Filtering sessions by properties"),
  fixedProperties: unanswered("Filtering sessions by properties"),
  filterTestAccounts: unanswered("Leaving out the sessions of test accounts"),
  modifiers: unanswered("A modifier"),
  ...unreadFields(aboutSender, "response tags version"),
});

export type SessionsQuery = Static<typeof sessionsModel>;
