// The question of the explore page in words, a few for each of its parts.

import { filterSentences } from "../filters/filter_text.ts";
import { dayText, rangeText } from "../ui/format.ts";
import {
  comparisons,
  intervals,
  type Kind,
  orders,
  pathTypes,
  ranges,
  retentionIntervals,
  trendDisplays,
  views,
  windows,
} from "./choices.ts";
import { type InsightQuery, plainQuery, shownSeries, toQueryBody } from "./query.ts";
import { nameSeries } from "./results.ts";

export function describeQuery(query: InsightQuery): string[] {
  const { kind, breakdown, compare, compareTo } = query;
  const events = kind === "paths" ? [] : shownSeries(kind, query.series);
  const names = events.map(({ event: name, math, property: math_property }) => {
    const action = { name, math: kind === "trend" ? math.split(":")[0]! : "total", math_property };
    return nameSeries({ label: "", data: [], days: [], action });
  });
  const isChain = kind === "funnel" || kind === "retention";
  const sentences = filterSentences(toQueryBody(query)).map((sentence) => sentence.replace(/\.$/, ""));
  return [
    ...(isChain ? [names.join(" → ")] : names),
    ...describeKind(query)[kind],
    ...(breakdown === "" || !(kind === "trend" || kind === "funnel") ? [] : [`by ${breakdown}`]),
    ...(kind === "trend" && compare ? [`against ${titleIn(comparisons, compareTo)}`] : []),
    ...sentences,
  ].filter((text) => text !== "");
}

/** The words of each kind of question beside its events; "" where it is as usual. */
function describeKind(query: InsightQuery): Record<Kind, string[]> {
  const { interval, view, display, start, end } = query;
  const range = describeRange(query);
  const each = `each ${titleIn(intervals, interval)}`;
  const until = query.to && `until ${dayText(query.to)}`;
  const look = display === plainQuery.display ? "" : titleIn(trendDisplays, display);
  return {
    trend: [range, each, look],
    funnel: [
      range,
      `within ${titleIn(windows, query.window)}`,
      query.order === plainQuery.order ? "" : titleIn(orders, query.order),
      view === plainQuery.view ? "" : titleIn(views, view),
    ],
    retention: [`each ${titleIn(retentionIntervals, interval)}`, query.first ? "first time ever" : "", until],
    lifecycle: [range, each],
    stickiness: [range, each],
    paths: [titleIn(pathTypes, query.pathType), range, start && `from ${start}`, end && `to ${end}`],
  };
}

function describeRange({ range, to }: InsightQuery): string {
  const known = ranges.find(([value]) => value === range);
  const until = to && to !== "-1dEnd" ? `until ${dayText(to)}` : "";
  if (known) return [known[1].toLowerCase(), until].filter(Boolean).join(" ");
  const from = dayText(rangeText(range));
  if (to) return `${from} to ${dayText(to)}`;
  return /^\d/.test(range) ? `since ${from}` : from;
}

const titleIn = (options: readonly (readonly [string, string])[], value: string): string =>
  (options.find(([name]) => name === value)?.[1] ?? value).toLowerCase();
