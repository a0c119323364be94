// The numbers above a chart: of the whole time, by each line's own math, with their change against the time before.

import { unwrapQuery } from "../../../query/result.ts";
import {
  type DrawnLine,
  readFigures,
  type ResultFigure,
  toTotalsQuery,
} from "../../../query/results/figures.ts";
import { linePersons, useFigureHref } from "../actors/figures.tsx";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { numberText, signedText } from "../ui/format.ts";
import { FigureLink } from "../ui/parts.tsx";
import { nameAllSeries, nameSeries, untilText } from "./results.ts";

const headlinesMax = 6;

export const wholeTime = "the whole time";

/** The address of the persons of a line's whole time. */
export function linkLine(hrefOfFigure: ReturnType<typeof useFigureHref>, line: DrawnLine, value: number) {
  return hrefOfFigure((query) => linePersons(query, line), `${nameSeries(line)}, ${wholeTime}`, value);
}

interface HeadlineProps {
  series: readonly DrawnLine[];
  /** PostHog's name of the drawing. */
  display: string;
  /** The query of the chart; undefined where no queries may be sent. */
  query: unknown;
  /** The numbers of the whole time, where they came with the results. */
  totals?: readonly DrawnLine[] | undefined;
  /** Whether there is no chart: all of them are shown, and large. */
  isAlone?: boolean;
}

export function Headline({ query, ...props }: HeadlineProps) {
  const hasTotals = query !== undefined && unwrapQuery(query)["kind"] === "TrendsQuery";
  return hasTotals ? <LoadedHeadline {...props} query={query} /> : <Numbers {...props} />;
}

interface Waiting {
  isLoading?: boolean;
}

/** Persons and averages do not add up: their number of the whole time is a query of its own. */
function LoadedHeadline({ query, ...props }: HeadlineProps) {
  const { series } = props;
  const mayQuery = useAllowed("query:read");
  const body = toTotalsQuery(query, String(series[0]?.days[0] ?? ""));
  const loaded = useRead(
    async (api, signal) => (mayQuery ? (await api.ask<{ results: DrawnLine[] }>(body, signal)).results : []),
    // The totals are reloaded with the chart.
    [JSON.stringify(body), series],
  );
  // An error of the chart's own query is shown below; this one would repeat it.
  return <Numbers {...props} totals={loaded.value} isLoading={loaded.loading} />;
}

function Numbers({
  series,
  display,
  totals,
  isLoading = false,
  isAlone = false,
}: Omit<HeadlineProps, "query"> & Waiting) {
  const hrefOfFigure = useFigureHref();
  const isSplit =
    !isAlone &&
    (isLoading || (totals?.length ?? 0) > 0) &&
    series.some(({ breakdown_value }) => breakdown_value !== undefined);
  const found = readFigures(series, { display, totals, isSplit });
  const titles = nameAllSeries(found.map(({ line }) => line));
  const figures = found.flatMap(({ line, value, before, until }, i) => {
    const href = !isSplit && value !== undefined ? linkLine(hrefOfFigure, line, value) : undefined;
    // A number that is being loaded has its space already.
    return value !== undefined || isLoading ? [{ name: titles[i]!, value, before, until, href }] : [];
  });
  if (isSplit && figures.length === 0)
    figures.push({ name: "", value: undefined, before: undefined, until: undefined, href: undefined });
  if (figures.length === 0 || (!isAlone && figures.length > headlinesMax)) return null;
  return (
    <div class={isAlone ? "bold-numbers" : "bold-numbers headline"}>
      {figures.map(({ name, value, before, until, href }) => (
        <p key={name}>
          <span class="bold-number">
            {value === undefined ? "…" : <FigureLink href={href}>{numberText(value)}</FigureLink>}
          </span>
          <span class="quiet cut" title={name}>
            {name}
          </span>
          <span class="quiet">{changeText(value, before, until)}</span>
        </p>
      ))}
    </div>
  );
}

/** While the numbers are loaded, the line has its height. */
function changeText(value?: number, before?: number, until?: ResultFigure["until"]): string {
  if (value === undefined || before === undefined) return "\u00a0";
  if (before === 0) return `none before${untilText(until)}`;
  const change = Math.round(((value - before) / before) * 100);
  return `${signedText(change, " %")} (before: ${numberText(before)}${untilText(until)})`;
}
