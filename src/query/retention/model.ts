// The schema of a RetentionQuery.

import type { Static } from "typebox";
import { choice, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

const entity = strictModel("RetentionEntity", {
  id: part.maybe(text({ blank: true })),
  kind: part.maybe(choice(["EventsNode"])),
  type: part.maybe(choice(["events"])),
  table_name: part.unanswered("A table of a data warehouse"),
  timestamp_field: part.unanswered("A table of a data warehouse"),
  aggregation_target_field: part.unanswered("A table of a data warehouse"),
  properties: part.anything(),
  ...part.unreadFields(part.drawing, "name custom_name order"),
  ...part.unreadFields(part.aboutSender, "uuid"),
});

export const retentionModel = strictModel("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...part.insightFields,
  breakdownFilter: part.breakdownFilter,
  retentionFilter: strictModel("RetentionFilter", {
    period: part.maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: part.maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: part.maybe(choice(["retention_recurring", "retention_first_time"])),
    targetEntity: part.maybe(entity),
    returningEntity: part.maybe(entity),
    cumulative: part.maybe(flag()),
    aggregationType: part.unanswered("Retention of anything but persons", ["count"]),
    aggregationProperty: part.unanswered("Retention of anything but persons"),
    minimumOccurrences: part.maybe(integer({ minimum: 1, maximum: 1_000_000 })),
    retentionCustomBrackets: part.unanswered("A bracket of one's own"),
    customAggregationTarget: part.unanswered("A table of a data warehouse"),
    timeWindowMode: part.unanswered("A window of 24 hours", ["strict_calendar_dates"]),
    ...part.unreadFields(
      part.drawing,
      "cohortLabelStartIndex dashboardDisplay display goalLines legendPosition " +
        "meanRetentionCalculation retentionReference selectedInterval showLegend showMean " +
        "showTrendLines",
    ),
    ...part.unreadFields("The type of a property that is refused itself.", "aggregationPropertyType"),
  }),
});

export type RetentionQuery = Static<typeof retentionModel>;
