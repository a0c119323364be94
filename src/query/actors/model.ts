// The schema of an ActorsQuery.

import type { Static } from "typebox";
import { choice, integer, strictModel, text } from "../../http/fields/field.ts";
import type { FigureField } from "../parts/figure.ts";
import { anything, expressionList, listFields, maybe, ofEveryQuery, unanswered } from "../parts/model.ts";

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

const figureOfInsight = {
  day: anything(),
  series: maybe(integer({ minimum: 0 })),
  breakdown: anything(),
  status: maybe(text()),
  compare: maybe(choice(["current", "previous"])),
  interval: maybe(integer({ minimum: 0 })),
};
const figureOfFunnel = { funnelStep: maybe(integer()), funnelStepBreakdown: anything() };

export const figureFields = Object.keys({ ...figureOfInsight, ...figureOfFunnel }) as FigureField[];

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
