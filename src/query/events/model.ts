// The schema of an EventsQuery.

import Type, { type Static } from "typebox";
import { choice, flag, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { anything, maybe, timedListFields, unanswered } from "../parts/model.ts";

export const eventsModel = strictModel("EventsQuery", {
  kind: choice(["EventsQuery"]),
  ...timedListFields,
  event: maybe(text({ blank: true })),
  events: maybe(Type.Array(text(), { maxItems: queryLimits.eventNamesMax })),
  actionId: unanswered("An action"),
  source: unanswered("A query inside of this one"),
  properties: anything(),
  fixedProperties: anything(),
  filterTestAccounts: maybe(flag()),
});

export type EventsQuery = Static<typeof eventsModel>;
