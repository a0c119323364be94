// The schema of an ActorsQuery.

import type { Static } from "typebox";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import * as part from "../parts/model.ts";

export const actorsModel = strictModel("ActorsQuery", {
  kind: choice(["ActorsQuery"]),
  select: part.maybe(part.expressionList()),
  search: part.maybe(text({ blank: true, maxLength: 200 })),
  properties: part.anything(),
  fixedProperties: part.anything(),
  source: part.anything(),
  ...part.listFields,
});

const behind = {
  /** Checked as a query. */
  source: part.anything(),
  includeRecordings: part.unanswered("Recordings of persons"),
  ...part.ofEveryQuery,
};

/** Identify the figure whose persons are listed. */
export const figureModels = {
  InsightActorsQuery: strictModel("InsightActorsQuery", {
    kind: choice(["InsightActorsQuery"]),
    ...part.figureOfInsight,
    ...behind,
  }),
  StickinessActorsQuery: strictModel("StickinessActorsQuery", {
    kind: choice(["StickinessActorsQuery"]),
    ...part.figureOfStickiness,
    ...behind,
  }),
  FunnelsActorsQuery: strictModel("FunnelsActorsQuery", {
    kind: choice(["FunnelsActorsQuery"]),
    ...part.figureOfFunnel,
    funnelCustomSteps: part.unanswered("Steps of one's own"),
    funnelTrendsDropOff: part.unanswered("Persons of a funnel's trend"),
    funnelTrendsEntrancePeriodStart: part.unanswered("Persons of a funnel's trend"),
    ...behind,
  }),
};

export type ActorsQuery = Static<typeof actorsModel>;
