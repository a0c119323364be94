// The title of a query without a name.

import type { CheckedQuery, Series } from "./check.ts";

const words: Record<string, string> = {
  total: "count",
  dau: "unique users",
  weekly_active: "weekly active users",
  monthly_active: "monthly active users",
  unique_session: "unique sessions",
  unique_group: "unique groups",
  first_time_for_user: "first time",
  first_matching_event_for_user: "first matching event",
};

/** At most 400 characters, like `signed up count & bought unique users`. */
export function titleOf(checked: CheckedQuery): string {
  const characters = [...plainTitle(checked)];
  return characters.length > 400 ? `${characters.slice(0, 399).join("")}…` : characters.join("");
}

function plainTitle(checked: CheckedQuery): string {
  switch (checked.kind) {
    case "TrendsQuery": {
      const by = checked.breakdown ? ` by ${checked.breakdown.property}` : "";
      return `${checked.series.map(seriesTitle).join(" & ")}${by}`;
    }
    case "FunnelsQuery":
      return `${checked.series.map(shown).join(" → ")} user conversion rate`;
    case "RetentionQuery":
      return `Retention of users who did ${shown(checked.target)} and came back for ${shown(checked.returning)}`;
    case "EventsQuery":
      return checked.query.event ? `${checked.query.event} events` : "Events";
  }
}

function seriesTitle(series: Series): string {
  const { math, node } = series;
  const property = node.math_property ? ` of ${node.math_property}` : "";
  return `${shown(series)} ${words[math] ?? `${math}${property}`}`;
}

function shown({ name, custom_name }: { name: string; custom_name: string | null }): string {
  return custom_name ?? (name === "$pageview" ? "Pageview" : name);
}
