// The schema of an ActorsQuery.

import type { Static } from "typebox";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import {
  anything,
  expressionList,
  figureOfFunnel,
  figureOfInsight,
  listFields,
  maybe,
  ofEveryQuery,
  unanswered,
} from "../parts/model.ts";

export const actorsModel = strictModel("ActorsQuery", {
  kind: choice(["ActorsQuery"]),
  select: maybe(expressionList()),
  search: maybe(text({ blank: true, maxLength: 200 })),
  properties: anything(),
  fixedProperties: anything(),
  source: anything(),
  ...listFields,
});

const behind = {
  /** Checked as a query. */
  source: anything(),
  includeRecordings: unanswered("Recordings of persons"),
  ...ofEveryQuery,
};

/** What says of which number persons are wanted. */
export const figureModels = {
  InsightActorsQuery: strictModel("InsightActorsQuery", {
    kind: choice(["InsightActorsQuery"]),
    ...figureOfInsight,
    ...behind,
  }),
  FunnelsActorsQuery: strictModel("FunnelsActorsQuery", {
    kind: choice(["FunnelsActorsQuery"]),
    ...figureOfFunnel,
    funnelCustomSteps: unanswered("Steps of one's own"),
    funnelTrendsDropOff: unanswered("Persons of a funnel's trend"),
    funnelTrendsEntrancePeriodStart: unanswered("Persons of a funnel's trend"),
    ...behind,
  }),
};

export type ActorsQuery = Static<typeof actorsModel>;
