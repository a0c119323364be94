// Answers a WebStatsTableQuery: visitors and views by page, source, browser and the like.

import { refuseInput } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { queryKind } from "../kind.ts";
import { checkFilters } from "../parts/figure.ts";
import { webBreakdowns, webStatsTableModel, type WebStatsTableQuery } from "./model.ts";
import { countPeriods, shownFigure, visitRows, visitSpans } from "./store.ts";

export const webStatsTableKind = queryKind({
  schema: webStatsTableModel,
  result: "table",
  check: (query: WebStatsTableQuery, attr) => ({
    ...checkFilters(query, attr),
    order: readOrder(query, attr),
  }),
  title: ({ query }) => `Visitors by ${query.breakdownBy}`,
  answer: async (context, checked) => {
    const { breakdownBy, includeBounceRate, limit, offset } = checked.query;
    const spans = await visitSpans(context, checked);
    const isOfSession = breakdownBy.startsWith("Initial");
    // A page's bounces are those of visits that entered the site there.
    const entered = breakdownBy === "Page" ? " and entry = value" : "";
    const columns: [name: string, of: (condition: string) => string][] = [
      ["visitors", (condition) => `uniqExactIf(person, ${condition})`],
      ["views", (condition) => `sumIf(views, ${condition})`],
    ];
    if (includeBounceRate)
      columns.push(["bounce_rate", (condition) => `avgIf(bounced, ${condition}${entered})`]);
    const page = { limit: limit ?? limits.pageDefault, offset: offset ?? 0 };
    const { rows, types } = await visitRows(context, checked, spans, {
      columns: `value, ${columns.map(([, of]) => countPeriods(of, spans).slice(0, 2)).join(", ")}`,
      value: webBreakdowns[breakdownBy],
      // A WHERE would read properties twice: the engine evaluates it before visits are counted.
      rest: `GROUP BY value ${isOfSession ? "" : "HAVING countIf(value != '') > 0"}
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

/** The columns by which rows are ordered, as the statement numbers them: the asked one, then visitors and views. */
function readOrder({ orderBy, includeBounceRate }: WebStatsTableQuery, attr: string): string {
  const [by, direction] = orderBy ?? ["Visitors", "DESC"];
  const column = { Visitors: 2, Views: 4, BounceRate: 6 }[by as string];
  if (column === undefined || !/^(?:ASC|DESC)$/.test(direction!))
    refuseInput('A column and its direction are needed, like ["Views", "DESC"].', `${attr}__orderBy`);
  if (by === "BounceRate" && !includeBounceRate)
    refuseInput("An order by bounces needs includeBounceRate.", `${attr}__orderBy`);
  return [...new Set([column, 2, 4])].map((value) => `${value} ${direction}`).join(", ");
}
