// The schema of a SessionsQuery.

import type { Static } from "typebox";
import { choice, strictModel } from "../../http/fields/field.ts";
import { timedListFields, unanswered } from "../parts/model.ts";

export const sessionsModel = strictModel("SessionsQuery", {
  kind: choice(["SessionsQuery"]),
  ...timedListFields,
  event: unanswered("Sessions with an event"),
  eventProperties: unanswered("Sessions with an event"),
  actionId: unanswered("An action"),
  properties: unanswered("Filtering sessions by properties"),
  fixedProperties: unanswered("Filtering sessions by properties"),
  filterTestAccounts: unanswered("Leaving out the sessions of test accounts"),
});

export type SessionsQuery = Static<typeof sessionsModel>;
