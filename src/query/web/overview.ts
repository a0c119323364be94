// Answers a WebOverviewQuery: the figures of a site, and those of the time before.

import { zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { checkFilters } from "../parts/figure.ts";
import type { WebFigure } from "../result.ts";
import { webOverviewModel, type WebOverviewQuery } from "./model.ts";
import { countPeriods, shownFigure, visitRows, visitSpans } from "./store.ts";

export const webOverviewKind = queryKind({
  schema: webOverviewModel,
  result: "figures",
  check: checkFilters<WebOverviewQuery>,
  title: () => "Web overview",
  answer: async (context, checked) => {
    const spans = await visitSpans(context, checked);
    const columns = figures.map(([, , of]) => countPeriods(of, spans)).join(", ");
    const until = spans.before?.until;
    const { rows } = await visitRows(context, checked, spans, { columns });
    const results = figures.map(([key, kind], i): WebFigure => {
      const [value, previous, part] = (rows[0] ?? []).slice(3 * i, 3 * i + 3).map(shownFigure);
      return {
        key,
        kind,
        value: value ?? null,
        previous: previous ?? null,
        changeFromPreviousPct:
          value != null && previous ? Math.round((100 * (value - previous)) / previous) : null,
        isIncreaseBad: key === "bounce rate" ? true : null,
        ...(until && { until: { date_to: zonedIso(until), value: part ?? null } }),
      };
    });
    return { span: spans.span, results };
  },
});

/** The figures in PostHog's order: key, kind, and the figure of visits under a condition. */
const figures: readonly [
  key: string,
  kind: WebFigure["kind"],
  of: (condition: string, views: string) => string,
][] = [
  ["visitors", "unit", (condition) => `uniqExactIf(person, ${condition})`],
  ["views", "unit", (condition, views) => `sumIf(${views}, ${condition})`],
  ["sessions", "unit", (condition) => `countIf(${condition})`],
  ["session duration", "duration_s", (condition) => `avgIf(duration, ${condition})`],
  ["bounce rate", "percentage", (condition) => `avgIf(bounced, ${condition}) * 100`],
];
