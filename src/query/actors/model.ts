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
  source: anything(),
  modifiers: unanswered("A modifier"),
  ...unreadFields(aboutSender, "response tags version"),
});

const behind = {
  /** Checked as a query. */
  source: anything(),
  includeRecordings: unanswered("Recordings of persons"),
  modifiers: unanswered("A modifier"),
  ...unreadFields(aboutSender, "response tags version"),
};

/** What says of which number persons are wanted. */
export const figureModels = {
  InsightActorsQuery: strictModel("InsightActorsQuery", {
    kind: choice(["InsightActorsQuery"]),
    day: anything(),
    series: maybe(integer({ minimum: 0 })),
    breakdown: anything(),
    status: maybe(text()),
    compare: maybe(choice(["current", "previous"])),
    interval: maybe(integer({ minimum: 0 })),
    ...behind,
  }),
  FunnelsActorsQuery: strictModel("FunnelsActorsQuery", {
    kind: choice(["FunnelsActorsQuery"]),
    funnelStep: maybe(integer()),
    funnelStepBreakdown: anything(),
    funnelCustomSteps: unanswered("Steps of one's own"),
    funnelTrendsDropOff: unanswered("Persons of a funnel's trend"),
    funnelTrendsEntrancePeriodStart: unanswered("Persons of a funnel's trend"),
    ...behind,
  }),
};

export type ActorsQuery = Static<typeof actorsModel>;
