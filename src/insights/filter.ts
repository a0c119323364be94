// The filters and orders of a list of insights: the parameters of PostHog's list.

import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { namesParameter, referencesParameter } from "../http/fields/list_parameters.ts";
import {
  choiceParameter,
  flagParameter,
  momentParameter,
  type QueryValues,
  referenceParameter,
  searchParameter,
  textParameter,
} from "../http/fields/query.ts";
import { insightLimits } from "./limits.ts";

/** PostHog's types of insights by the kind of their query. JSON: all others. */
export const kindsByType = {
  TRENDS: "TrendsQuery",
  FUNNELS: "FunnelsQuery",
  RETENTION: "RetentionQuery",
  PATHS: "PathsQuery",
  STICKINESS: "StickinessQuery",
  LIFECYCLE: "LifecycleQuery",
  SQL: "HogQLQuery",
} as const;

const types = [...Object.keys(kindsByType), "JSON"] as (keyof typeof kindsByType | "JSON")[];

const orderedBy = [
  "id",
  "name",
  "created_at",
  "updated_at",
  "last_modified_at",
  "last_viewed_at",
  "my_last_viewed_at",
  "created_by",
  "order",
] as const;
const orders = orderedBy.flatMap((field) => [field, `-${field}`] as const);

/** Absent parameters do not filter. */
export function insightFilter(clock: Clock) {
  return {
    short_id: textParameter("Only the insight with this short_id."),
    search: searchParameter(
      "Only those with this text in their name, description or a tag.",
      limits.searchCharsMax,
    ),
    created_by: referencesParameter("Only those of these users.", insightLimits.filterItemsMax),
    user: flagParameter("true: only those of the key's user; false: only those of others."),
    saved: flagParameter("true: only those that are saved or on a dashboard; false: only those not saved."),
    favorited: flagParameter("true: only favorites; false: only others."),
    hide_feature_flag_insights: flagParameter("No effect: PostHog makes such insights itself."),
    insight: choiceParameter("Only those with a query of this type; JSON: of no other type.", types),
    dashboard: referenceParameter("Only those that this dashboard shows."),
    dashboards: referencesParameter(
      "Only those that all of these dashboards show.",
      insightLimits.filterItemsMax,
    ),
    tags: namesParameter("Only those with one of these tags.", limits.tagsMax, { maxLength: 255 }),
    created_date_from: momentParameter("Only those created after this moment.", clock, {
      end: "created_date_to",
    }),
    created_date_to: momentParameter("Only those created before this moment.", clock, {
      start: "created_date_from",
    }),
    date_from: momentParameter("Only those last modified after this moment.", clock, { end: "date_to" }),
    date_to: momentParameter("Only those last modified before this moment.", clock, { start: "date_from" }),
    order: choiceParameter(
      "Descending with a minus before it; by default what fits a search best, then the newest.",
      orders,
    ),
  };
}

export type InsightFilter = Partial<QueryValues<ReturnType<typeof insightFilter>>> & {
  /** Only those that the reader viewed. */
  isViewed?: boolean;
};
