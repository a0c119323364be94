// Answers queries about a site: a WebOverviewQuery, its figures and those of the time before; a WebStatsTableQuery,
// visitors and views by page, source, browser and the like.

import { refuseInput } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { checkFilters } from "../parts/figure.ts";
import type { WebFigure } from "../result.ts";
import * as model from "./model.ts";
import { countPeriods, shownFigure, visitRows, visitSpans } from "./store.ts";

export const webOverviewKind = queryKind({
  schema: model.webOverviewModel,
  result: "figures",
  check: (query, attr) => checkFilters(query, attr),
  title: () => "Web overview",
  answer: async (context, checked) => {
    const spans = await visitSpans(context, checked);
    const isOfGoal = Boolean(checked.query.conversionGoal?.customEventName);
    const figureList = isOfGoal ? goalFigures : figures;
    const columns = figureList.map(([, , of]) => countPeriods(of, spans)).join(", ");
    const until = spans.before?.until;
    const { rows } = await visitRows(context, checked, spans, { columns });
    const results = figureList.map(([key, kind], i): WebFigure => {
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

type Figure = readonly [
  key: string,
  kind: WebFigure["kind"],
  of: (condition: string, views: string) => string,
];

const countVisitors = (condition: string) => `uniqExactIf(person, ${condition})`;
/** Conversions as far as the views that are counted. */
const conversionsBeside = (views = "views") => (views === "seen" ? "seen_conversions" : "conversions");
const countConversions = (condition: string, views?: string) =>
  `sumIf(${conversionsBeside(views)}, ${condition})`;
const countConverted = (condition: string, views?: string) =>
  `uniqExactIf(person, ${condition} AND ${conversionsBeside(views)} > 0)`;
const rateConversion = (condition: string, views?: string) =>
  `${countConverted(condition, views)} / ${countVisitors(condition)}`;

/** The figures of a query with a goal, as `figures`. */
const goalFigures: readonly Figure[] = [
  ["visitors", "unit", countVisitors],
  ["total conversions", "unit", countConversions],
  ["unique conversions", "unit", countConverted],
  ["conversion rate", "percentage", (condition, views) => `100 * ${rateConversion(condition, views)}`],
];

/** The figures in PostHog's order: key, kind, and the figure of visits under a condition. */
const figures: readonly Figure[] = [
  ["visitors", "unit", countVisitors],
  ["views", "unit", (condition, views) => `sumIf(${views}, ${condition})`],
  ["sessions", "unit", (condition) => `countIf(${condition})`],
  ["session duration", "duration_s", (condition) => `avgIf(duration, ${condition})`],
  ["bounce rate", "percentage", (condition) => `avgIf(bounced, ${condition}) * 100`],
];

export const webStatsTableKind = queryKind({
  schema: model.webStatsTableModel,
  result: "table",
  shownColumns: null,
  check: (query, attr) => ({
    ...checkFilters(query, attr),
    order: readOrder(query, attr),
  }),
  title: ({ query }) => `Visitors by ${query.breakdownBy}`,
  answer: async (context, checked) => {
    const { breakdownBy, includeBounceRate, limit, offset } = checked.query;
    const spans = await visitSpans(context, checked);
    // As at PostHog, of a visit's start all but its page may be without a value.
    const showsNone = /^Initial(?!Page$|ReferringURL$)/.test(breakdownBy);
    // A page's bounces are those of visits that entered the site there.
    const entered = breakdownBy === "Page" ? " and entry = value" : "";
    const isOfGoal = Boolean(checked.query.conversionGoal?.customEventName);
    const columns: [name: string, of: (condition: string) => string][] = [["visitors", countVisitors]];
    if (isOfGoal) {
      columns.push(["total_conversions", countConversions], ["unique_conversions", countConverted]);
      columns.push(["conversion_rate", rateConversion]);
    } else columns.push(["views", (condition) => `sumIf(views, ${condition})`]);
    if (includeBounceRate && !isOfGoal)
      columns.push(["bounce_rate", (condition) => `avgIf(bounced, ${condition}${entered})`]);
    const page = { limit: limit ?? limits.pageDefault, offset: offset ?? 0 };
    const { rows, types } = await visitRows(context, checked, spans, {
      columns: `value, ${columns.map(([, of]) => countPeriods(of, spans).slice(0, 2)).join(", ")}`,
      value: model.webBreakdowns[breakdownBy],
      // A WHERE would read properties twice: the engine evaluates it before visits are counted.
      rest: `GROUP BY value ${showsNone ? "" : "HAVING countIf(toString(value) != '') > 0"}
        ORDER BY ${checked.order}, value LIMIT ${page.limit + 1} OFFSET ${page.offset}`,
    });
    return {
      span: spans.span,
      results: rows
        .slice(0, page.limit)
        .map(([value, ...numbers]) => [
          value,
          ...columns.map((_, i) => [shownFigure(numbers[2 * i]), shownFigure(numbers[2 * i + 1])]),
        ]),
      table: {
        ...page,
        hasMore: rows.length > page.limit,
        columns: ["breakdown_value", ...columns.map(([name]) => name)].map(
          (name) => `context.columns.${name}`,
        ),
        types: [types[0]!, ...columns.map((_, i) => `Tuple(${types[2 * i + 1]}, ${types[2 * i + 2]})`)],
      },
    };
  },
});

/**
 * The columns by which rows are ordered, as the statement numbers them: the asked one, then visitors and views; of a
 * site with a goal visitors with a conversion, all conversions and visitors.
 */
function readOrder(query: model.WebStatsTableQuery, attr: string): string {
  const { orderBy, includeBounceRate, conversionGoal } = query;
  const [by, direction] = orderBy ?? ["Visitors", "DESC"];
  const isOfGoal = Boolean(conversionGoal?.customEventName);
  const column = { Visitors: 2, Views: 4, BounceRate: 6 }[by as string];
  if (column === undefined || !/^(?:ASC|DESC)$/.test(direction!))
    refuseInput('A column and its direction are needed, like ["Views", "DESC"].', `${attr}__orderBy`);
  if (by === "BounceRate" && !includeBounceRate)
    refuseInput("An order by bounces needs includeBounceRate.", `${attr}__orderBy`);
  // A goal's table has neither views nor bounces.
  const goalOrder = orderBy && by === "Visitors" ? [2, 6, 4] : [6, 4, 2];
  const order = isOfGoal ? goalOrder : [...new Set([column, 2, 4])];
  return order.map((value) => `${value} ${direction}`).join(", ");
}
