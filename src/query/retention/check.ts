// The schema of a RetentionQuery, and what it cannot refuse: fields that are not answered beside each other.

import { wordsIn } from "../../core/words.ts";
import { choice, type CreateInput, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { readBreakdown } from "../parts/breakdown.ts";
import { type Entity, entityNamed, personNumber, readNodeFilters, refuseField } from "../parts/figure.ts";
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

const retentionTypes = wordsIn(`
  retention_recurring retention_first_time retention_first_occurrence_matching_filters retention_first_ever_occurrence
`);

export const retentionModel = strictModel("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...part.insightFields,
  aggregation_group_type_index: part.groupTypeIndex,
  breakdownFilter: part.breakdownFilter,
  retentionFilter: strictModel("RetentionFilter", {
    period: part.maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: part.maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: part.maybe(choice(retentionTypes)),
    targetEntity: part.maybe(entity),
    returningEntity: part.maybe(entity),
    cumulative: part.maybe(flag()),
    aggregationType: part.maybe(choice(["count", "sum", "avg"])),
    aggregationProperty: part.maybe(text({ blank: true })),
    aggregationPropertyType: part.maybe(choice(["event", "person"])),
    minimumOccurrences: part.maybe(integer({ minimum: 1, maximum: 1_000_000 })),
    retentionCustomBrackets: part.maybe(
      part.list(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax }), {
        maxItems: queryLimits.retentionIntervalsMax,
      }),
    ),
    customAggregationTarget: part.unanswered("A table of a data warehouse"),
    timeWindowMode: part.maybe(choice(["strict_calendar_dates", "24_hour_windows"])),
    ...part.unreadFields(
      part.drawing,
      `cohortLabelStartIndex dashboardDisplay display goalLines legendPosition meanRetentionCalculation
      retentionReference selectedInterval showLegend showMean showTrendLines`,
    ),
  }),
});

type RetentionQuery = CreateInput<typeof retentionModel>;

export type CheckedRetention = ReturnType<typeof checkRetention>;

export function checkRetention(query: RetentionQuery, attr: string) {
  const filter = query.retentionFilter;
  const { targetEntity, returningEntity, retentionType, minimumOccurrences, cumulative } = filter;
  const at = `${attr}__retentionFilter`;
  const target = readEntity(targetEntity, `${at}__targetEntity`);
  const returning = readEntity(returningEntity, `${at}__returningEntity`);
  const breakdown = readBreakdown(query, attr);
  if (breakdown && breakdown.parts.length > 1)
    refuseField("Retention by several properties", `${attr}__breakdownFilter__breakdowns`);
  if (breakdown?.parts.some(({ bins }) => bins > 0))
    refuseField("A histogram of retention", `${attr}__breakdownFilter__breakdown_histogram_bin_count`);
  const isRolling = filter.timeWindowMode === "24_hour_windows";
  const isSum = filter.aggregationType === "sum" || filter.aggregationType === "avg";
  const amount = isSum ? filter.aggregationProperty || undefined : undefined;
  const isOfPersons = filter.aggregationPropertyType === "person";
  const amountText = amount !== undefined && isOfPersons ? personNumber(amount) : undefined;
  const brackets = filter.retentionCustomBrackets ?? [];
  const special = isRolling
    ? "A window of 24 hours"
    : amount === undefined
      ? undefined
      : "A sum of a property";
  if (special && cumulative) refuseField(`${special} on or after`, `${at}__cumulative`);
  if (amount !== undefined && (minimumOccurrences ?? 1) > 1)
    refuseField(`${special} with occurrences`, `${at}__minimumOccurrences`);
  if (isRolling && amount !== undefined) refuseField(`${special} with a sum`, `${at}__aggregationType`);
  if (special && brackets.length > 0)
    refuseField(`${special} with brackets`, `${at}__retentionCustomBrackets`);
  return {
    attr,
    query,
    target,
    returning,
    entities: [target, returning],
    filters: readNodeFilters(query, attr),
    breakdown,
    isFirstTime: (retentionType ?? "retention_recurring") !== "retention_recurring",
    isFirstEver: retentionType === "retention_first_ever_occurrence",
    isCumulative: cumulative === true,
    least: minimumOccurrences ?? 1,
    groupIndex: query.aggregation_group_type_index ?? undefined,
    isRolling,
    brackets,
    amount,
    amountText,
    maths: amountText === undefined ? [] : [{ text: amountText, attr: `${at}__aggregationProperty` }],
    measured: amount === undefined ? [] : [amount],
    isMean: filter.aggregationType === "avg",
  };
}

/** Page views when the query names none. */
function readEntity(entity: RetentionQuery["retentionFilter"]["targetEntity"], attr: string): Entity {
  const event = entity ? (entity.id ?? undefined) : "$pageview";
  return { ...entityNamed(event), custom_name: null, filters: readNodeFilters(entity ?? {}, attr) };
}
