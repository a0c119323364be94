// The schema of an EventsQuery.

import Type, { type Static } from "typebox";
import { choice, flag, integer, strictModel, text, uuid } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { aboutSender, anything, maybe, unanswered, unreadFields } from "../parts/model.ts";

export const eventsModel = strictModel("EventsQuery", {
  kind: choice(["EventsQuery"]),
  select: Type.Array(text({ maxLength: queryLimits.expressionCharsMax }), {
    minItems: 1,
    maxItems: queryLimits.queryColumnsMax,
  }),
  event: maybe(text({ blank: true })),
  events: maybe(Type.Array(text(), { maxItems: queryLimits.eventNamesMax })),
  personId: maybe(uuid()),
  actionId: unanswered("An action"),
  source: unanswered("A query inside of this one"),
  modifiers: unanswered("A modifier"),
  properties: anything(),
  fixedProperties: anything(),
  filterTestAccounts: maybe(flag()),
  where: maybe(
    Type.Array(text({ maxLength: queryLimits.expressionCharsMax }), {
      maxItems: queryLimits.queryColumnsMax,
    }),
  ),
  after: maybe(text({ blank: true, maxLength: 40 })),
  before: maybe(text({ blank: true, maxLength: 40 })),
  orderBy: maybe(
    Type.Array(text({ maxLength: queryLimits.expressionCharsMax }), {
      maxItems: queryLimits.queryColumnsMax,
    }),
  ),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
  ...unreadFields(aboutSender, "response tags version"),
});

export type EventsQuery = Static<typeof eventsModel>;
