// The `source` of an ActorsQuery: another query, and which of its numbers the persons are behind.

import { Fault } from "../../core/fault.ts";
import { isDictionary } from "../../core/json/dictionary.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { funnelsKind } from "../funnel/funnel.ts";
import { type Fields, fieldsOf, queryFields, type QueryKind } from "../kind.ts";
import { lifecycleKind } from "../lifecycle/lifecycle.ts";
import type { FigureRef, PersonStatement } from "../parts/figure.ts";
import { figureFields } from "../parts/model.ts";
import { isGiven } from "../parts/series.ts";
import { pathsKind } from "../paths/paths.ts";
import { refuseInput } from "../refuse_input.ts";
import { retentionKind } from "../retention/retention.ts";
import { stickinessKind } from "../stickiness/stickiness.ts";
import type { QueryContext } from "../store.ts";
import { trendsKind } from "../trends/trends.ts";
import { figureModels } from "./model.ts";

export interface Behind {
  filtersTestAccounts: boolean;
  /** @param filters of test accounts. */
  persons: (context: QueryContext, filters: readonly PropertyFilter[]) => Promise<PersonStatement>;
}

const ofInsights: Readonly<Record<string, QueryKind>> = {
  TrendsQuery: trendsKind,
  RetentionQuery: retentionKind,
  LifecycleQuery: lifecycleKind,
  StickinessQuery: stickinessKind,
  PathsQuery: pathsKind,
};
const kinds: Readonly<Record<string, Readonly<Record<string, QueryKind>>>> = {
  InsightActorsQuery: ofInsights,
  FunnelsActorsQuery: { FunnelsQuery: funnelsKind },
};

/** undefined: of no query. @throws Fault for what is none, named below `attr`. */
export function behindOf(source: unknown, attr: string): Behind | undefined {
  if (!isGiven(source) || (isDictionary(source) && Object.keys(source).length === 0)) return undefined;
  const fields = queryFields(source, attr);
  const [name, answered] = oneOf(kinds, fields["kind"], `${attr}__kind`);
  const model = figureModels[name as keyof typeof figureModels];
  const { source: inner, ...figure } = fieldsOf(model, fields, attr) as Fields;
  const at = `${attr}__source`;
  const query = queryFields(inner, at);
  const [kindName, kind] = oneOf(answered, query["kind"], `${at}__kind`);
  const { persons, filtersTestAccounts } = kind.check(query, at);
  const { takes, of } = persons!;
  for (const field of figureFields) {
    if (figure[field] === undefined || figure[field] === null || takes.includes(field)) continue;
    refuseInput(`"${field}" does not apply to a ${kindName}; use ${takes.join(", ")}.`, `${attr}__${field}`);
  }
  return {
    filtersTestAccounts,
    persons: async (context, filters) => await of(context, filters, { ...figure, attr } satisfies FigureRef),
  };
}

function oneOf<Value>(list: Readonly<Record<string, Value>>, name: unknown, attr: string): [string, Value] {
  if (typeof name === "string" && Object.hasOwn(list, name)) return [name, list[name]!];
  const text = String(name).slice(0, 100);
  const known = Object.keys(list).join(", ");
  throw new Fault("not_supported", `"${text}" has no persons here; ${known} have.`, { attr });
}
