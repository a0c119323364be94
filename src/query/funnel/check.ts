// What the schema of a FunnelsQuery cannot refuse: math, and exclusions that stand between no steps.

import { Fault } from "../../core/fault.ts";
import { breakdownExpressions, breakdownOf } from "../parts/breakdown.ts";
import { entityExpressions, filtersOf, seriesOf, unsupportedField } from "../parts/series.ts";
import type { FunnelsQuery } from "./model.ts";
import { type Exclusion, type FunnelOrder, walkOf } from "./walk.ts";

export type CheckedFunnel = ReturnType<typeof checkFunnel>;

export function checkFunnel(query: FunnelsQuery, attr: string) {
  const series = query.series.map((node, i) => stepOf(node, `${attr}__series__${i}`));
  const { funnelOrderType, breakdownAttributionType } = query.funnelsFilter ?? {};
  const order = (funnelOrderType ?? "ordered") as FunnelOrder;
  const exclusions = exclusionsOf(query, order, `${attr}__funnelsFilter__exclusions`);
  const breakdown = breakdownOf(query, attr);
  const entities = [...series, ...exclusions.map(({ entity }) => entity)];
  return {
    attr,
    query,
    series,
    filters: filtersOf(query, attr),
    order,
    exclusions,
    walk: walkOf(order, series, exclusions, attr),
    breakdown,
    expressions: [...entityExpressions(entities), ...breakdownExpressions(breakdown)],
    touch: breakdownAttributionType === "last_touch" ? ("last" as const) : ("first" as const),
  };
}

function stepOf(node: FunnelsQuery["series"][number], at: string) {
  const step = seriesOf(node, at);
  if (step.math !== "total") throw unsupportedField("Math on a funnel's step", `${at}__math`);
  return step;
}

function exclusionsOf(
  { series, funnelsFilter }: FunnelsQuery,
  order: FunnelOrder,
  attr: string,
): Exclusion[] {
  const last = series.length - 1;
  return (funnelsFilter?.exclusions ?? []).map(({ funnelFromStep: from, funnelToStep: to, ...node }, i) => {
    const at = `${attr}__${i}`;
    const wrong = (name: string, detail: string) =>
      new Fault("invalid_input", detail, { attr: `${at}__${name}` });
    if (to > last) throw wrong("funnelToStep", `The last step of this funnel is ${last}.`);
    if (from >= to) throw wrong("funnelFromStep", "funnelFromStep must be before funnelToStep.");
    if (order === "unordered" && to - from < last) {
      const name = from > 0 ? "funnelFromStep" : "funnelToStep";
      throw wrong(name, `An exclusion of a funnel without order is from step 0 to step ${last}.`);
    }
    return { entity: stepOf(node, at), from, to };
  });
}
