// The schema of a FunnelsQuery, and what it cannot refuse: math, and exclusions that are between no steps.

import { refuseInput } from "../../core/fault.ts";
import { choice, type CreateInput, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { readBreakdown } from "../parts/breakdown.ts";
import { readNodeFilters, readSeries, refuseBreakdown, refuseField, shownName } from "../parts/figure.ts";
import * as part from "../parts/model.ts";
import { bySession } from "./attempts.ts";
import { firstMaths } from "./first_store.ts";
import { type FunnelOrder, planWalk } from "./walk.ts";

const stepIndex = integer({ minimum: 0, maximum: queryLimits.querySeriesMax - 1 });

const exclusion = strictModel("FunnelExclusionEventsNode", {
  ...part.node.properties,
  funnelFromStep: stepIndex,
  funnelToStep: stepIndex,
});

export const funnelsModel = strictModel("FunnelsQuery", {
  kind: choice(["FunnelsQuery"]),
  series: part.seriesList(2),
  interval: part.interval,
  ...part.insightFields,
  aggregation_group_type_index: part.groupTypeIndex,
  breakdownFilter: part.breakdownFilter,
  compareFilter: part.maybe(
    strictModel("FunnelCompareFilter", {
      compare: part.unanswered("Comparing funnels"),
      compare_to: part.unanswered("Comparing funnels"),
    }),
  ),
  funnelsFilter: part.maybe(
    strictModel("FunnelsFilter", {
      funnelOrderType: part.maybe(choice(["ordered", "strict", "unordered"])),
      breakdownAttributionType: part.maybe(choice(["first_touch", "last_touch", "all_events", "step"])),
      breakdownAttributionValue: part.maybe(stepIndex),
      funnelVizType: part.maybe(choice(["steps", "trends", "time_to_convert"])),
      funnelFromStep: part.maybe(stepIndex),
      funnelToStep: part.maybe(stepIndex),
      binCount: part.maybe(integer({ minimum: 1, maximum: queryLimits.funnelBinsMax })),
      hideIncompleteConversionWindowPeriods: part.maybe(flag()),
      funnelWindowInterval: part.maybe(integer({ minimum: 1, maximum: 100_000 })),
      funnelWindowIntervalUnit: part.maybe(choice(["second", "minute", "hour", "day", "week", "month"])),
      exclusions: part.maybe(part.list(exclusion, { maxItems: queryLimits.querySeriesMax })),
      funnelAggregateByHogQL: part.maybe(text({ blank: true, maxLength: queryLimits.expressionCharsMax })),
      customAggregationTarget: part.unanswered("A table of a data warehouse"),
      ...part.unreadFields(
        part.drawing,
        `funnelStepReference goalLines hiddenLegendBreakdowns layout legendPosition resultCustomizations
        showAnnotations showLegend showTrendLines showValuesOnSeries`,
      ),
      ...part.unreadFields(part.aboutRefused, "breakdownSorting"),
      ...part.unreadFields("Chooses between two ways of computing the same in PostHog.", "useUdf"),
    }),
  ),
});

type FunnelsQuery = CreateInput<typeof funnelsModel>;

export type CheckedFunnel = ReturnType<typeof checkFunnel>;

export function checkFunnel(query: FunnelsQuery, attr: string) {
  const all = query.series.map((node, i) => checkStep(node, `${attr}__series__${i}`));
  const { funnelOrderType, funnelVizType, breakdownAttributionType, funnelAggregateByHogQL } =
    query.funnelsFilter ?? {};
  const groupIndex = query.aggregation_group_type_index ?? undefined;
  const expression = groupIndex === undefined ? funnelAggregateByHogQL?.trim() : undefined;
  const actorText = expression === "person_id" ? undefined : expression || undefined;
  const isOfSql = actorText !== undefined && actorText !== bySession;
  const order = (funnelOrderType ?? "ordered") as FunnelOrder;
  const result = results[(funnelVizType ?? "steps") as keyof typeof results];
  const range = stepsBetween(query, `${attr}__funnelsFilter`);
  // Steps after a trend's last requested one change nothing; in an unordered funnel they do, since none is the last.
  const last = result === "conversions" && order !== "unordered" ? range.to : all.length - 1;
  const series = all.slice(0, last + 1);
  const exclusions = checkExclusions(query, order, `${attr}__funnelsFilter__exclusions`)
    .filter(({ from }) => from < last)
    .map(({ to, ...item }) => ({ ...item, to: Math.min(to, last) }));
  if (result === "times") refuseBreakdown(query, attr);
  const breakdown = readBreakdown(query, attr);
  if (breakdown?.parts.some(({ bins }) => bins > 0))
    refuseField("A histogram of a funnel", `${attr}__breakdownFilter__breakdown_histogram_bin_count`);
  return {
    attr,
    query,
    title: `${all.map(shownName).join(" → ")} user conversion rate`,
    result,
    ...range,
    interval: (query.interval ?? "day") as part.Interval,
    series,
    filters: readNodeFilters(query, attr),
    order,
    exclusions,
    walk: planWalk(order, series, exclusions, attr),
    breakdown,
    entities: [...all, ...exclusions.map(({ entity }) => entity)],
    touch: touches[breakdownAttributionType ?? "first_touch"],
    touchStep: readTouchStep(query, attr),
    groupIndex,
    actorText,
    maths: isOfSql ? [{ text: actorText, attr: `${attr}__funnelsFilter__funnelAggregateByHogQL` }] : [],
  };
}

const touches = { first_touch: "first", last_touch: "last", all_events: "all", step: "all" } as const;

/** The step whose events have the values of a breakdown; undefined: all. */
function readTouchStep({ series, funnelsFilter }: FunnelsQuery, attr: string): number | undefined {
  if (funnelsFilter?.breakdownAttributionType !== "step") return undefined;
  const step = funnelsFilter.breakdownAttributionValue ?? 0;
  if (step < series.length) return step;
  const at = `${attr}__funnelsFilter__breakdownAttributionValue`;
  return refuseInput(`The last step of this funnel is ${series.length - 1}.`, at);
}

/** The result of each of PostHog's views of a funnel. */
const results = { steps: "steps", trends: "conversions", time_to_convert: "times" } as const;

function stepsBetween({ series, funnelsFilter }: FunnelsQuery, attr: string): { from: number; to: number } {
  const last = series.length - 1;
  const { funnelFromStep: from, funnelToStep: to } = funnelsFilter ?? {};
  if ((to ?? last) > last) refuseInput(`The last step of this funnel is ${last}.`, `${attr}__funnelToStep`);
  if ((from ?? 0) >= (to ?? last)) {
    const name = to === 0 ? "funnelToStep" : "funnelFromStep";
    refuseInput("funnelFromStep must be before funnelToStep.", `${attr}__${name}`);
  }
  return { from: from ?? 0, to: to ?? last };
}

function checkStep(node: FunnelsQuery["series"][number], at: string, maths = firstMaths) {
  const step = readSeries(node, at);
  if (!["total", ...maths].includes(step.math)) refuseField(`The math "${step.math}" there`, `${at}__math`);
  return step;
}

function checkExclusions({ series, funnelsFilter }: FunnelsQuery, order: FunnelOrder, attr: string) {
  const last = series.length - 1;
  return (funnelsFilter?.exclusions ?? []).map(({ funnelFromStep: from, funnelToStep: to, ...node }, i) => {
    const at = `${attr}__${i}`;
    if (to > last) refuseInput(`The last step of this funnel is ${last}.`, `${at}__funnelToStep`);
    if (from >= to) refuseInput("funnelFromStep must be before funnelToStep.", `${at}__funnelFromStep`);
    if (order === "unordered" && to - from < last) {
      const name = from > 0 ? "funnelFromStep" : "funnelToStep";
      refuseInput(`An exclusion of a funnel without order is from step 0 to step ${last}.`, `${at}__${name}`);
    }
    return { entity: checkStep(node, at, []), from, to };
  });
}
