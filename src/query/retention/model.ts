// The schema of a RetentionQuery.

import type { Static } from "typebox";
import { choice, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import {
  aboutSender,
  anything,
  breakdownFilter,
  drawing,
  insightFields,
  maybe,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

const entity = strictModel("RetentionEntity", {
  id: maybe(text({ blank: true })),
  kind: maybe(choice(["EventsNode"])),
  type: maybe(choice(["events"])),
  table_name: unanswered("A table of a data warehouse"),
  timestamp_field: unanswered("A table of a data warehouse"),
  aggregation_target_field: unanswered("A table of a data warehouse"),
  properties: anything(),
  ...unreadFields(drawing, "name custom_name order"),
  ...unreadFields(aboutSender, "uuid"),
});

export const retentionModel = strictModel("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...insightFields,
  breakdownFilter,
  retentionFilter: strictModel("RetentionFilter", {
    period: maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: maybe(choice(["retention_recurring", "retention_first_time"])),
    targetEntity: maybe(entity),
    returningEntity: maybe(entity),
    cumulative: unanswered("Cumulative retention"),
    aggregationType: unanswered("Retention of anything but persons", ["count"]),
    aggregationProperty: unanswered("Retention of anything but persons"),
    minimumOccurrences: unanswered("A minimum of occurrences", [1]),
    retentionCustomBrackets: unanswered("A bracket of one's own"),
    customAggregationTarget: unanswered("A table of a data warehouse"),
    timeWindowMode: unanswered("A window of 24 hours", ["strict_calendar_dates"]),
    ...unreadFields(
      drawing,
      "cohortLabelStartIndex dashboardDisplay display goalLines legendPosition " +
        "meanRetentionCalculation retentionReference selectedInterval showLegend showMean " +
        "showTrendLines",
    ),
    ...unreadFields("The type of a property that is refused itself.", "aggregationPropertyType"),
  }),
});

export type RetentionQuery = Static<typeof retentionModel>;
