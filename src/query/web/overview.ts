// Answers a WebOverviewQuery: the figures of a site, and those of the time before.

import { queryKind } from "../kind.ts";
import { checkFilters } from "../parts/series.ts";
import type { WebFigure } from "../result.ts";
import { webOverviewModel, type WebOverviewQuery } from "./model.ts";
import { both, shownFigure, visitRows, visitSpans } from "./store.ts";

export const webOverviewKind = queryKind({
  schema: webOverviewModel,
  result: "figures",
  check: checkFilters<WebOverviewQuery>,
  title: () => "Web overview",
  answer: async (context, checked) => {
    const spans = await visitSpans(context, checked);
    const columns = figures.map(([, , of]) => both(of, spans)).join(", ");
    const { rows } = await visitRows(context, checked, spans, { columns });
    const results = figures.map(([key, kind], i): WebFigure => {
      const [value, previous] = [rows[0]?.[2 * i], rows[0]?.[2 * i + 1]].map(shownFigure);
      return {
        key,
        kind,
        value: value ?? null,
        previous: previous ?? null,
        changeFromPreviousPct:
          value != null && previous ? Math.round((100 * (value - previous)) / previous) : null,
        isIncreaseBad: key === "bounce rate" ? true : null,
      };
    });
    return { span: spans.span, results };
  },
});

/** The figures in PostHog's order: key, kind, and the figure of visits under a condition. */
const figures: readonly [key: string, kind: WebFigure["kind"], of: (condition: string) => string][] = [
  ["visitors", "unit", (condition) => `uniqExactIf(person, ${condition})`],
  ["views", "unit", (condition) => `sumIf(views, ${condition})`],
  ["sessions", "unit", (condition) => `countIf(${condition})`],
  ["session duration", "duration_s", (condition) => `avgIf(duration, ${condition})`],
  ["bounce rate", "percentage", (condition) => `avgIf(bounced, ${condition}) * 100`],
];
