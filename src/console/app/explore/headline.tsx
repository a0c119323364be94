// The numbers above a chart: of the whole time, by each line's own math, with their change against the time before.

import { linePersons, useFigureHref } from "../actors/figures.tsx";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { numberText, signedText } from "../ui/format.ts";
import { FigureLink } from "../ui/parts.tsx";
import { toFields, toSource } from "../values.ts";
import { nameAllSeries, nameSeries, type TrendSeries, untilText } from "./results.ts";

const headlinesMax = 6;

export const wholeTime = "the whole time";

/** The address of the persons of a line's whole time. */
export function linkLine(hrefOfFigure: ReturnType<typeof useFigureHref>, line: TrendSeries, value: number) {
  return hrefOfFigure((query) => linePersons(query, line), `${nameSeries(line)}, ${wholeTime}`, value);
}

interface HeadlineProps {
  series: readonly TrendSeries[];
  /** The sum of each line that adds up. */
  sums: readonly (number | undefined)[];
  /** The query of the chart; undefined where no queries may be sent: then only lines that add up have a number. */
  query: unknown;
  /** Whether there is no chart: all of them are shown, and large. */
  isAlone?: boolean;
}

export function Headline({ query, ...props }: HeadlineProps) {
  const hasTotals = query !== undefined && toSource(query)["kind"] === "TrendsQuery";
  return hasTotals ? <LoadedHeadline {...props} query={query} /> : <Numbers {...props} />;
}

/** Persons and averages do not add up: their number of the whole time is a query of its own. */
function LoadedHeadline({ query, ...props }: HeadlineProps) {
  const { series } = props;
  const mayQuery = useAllowed("query:read");
  const body = toTotalsQuery(query, String(series[0]?.days[0] ?? ""));
  const loaded = useRead(
    async (api, signal) =>
      mayQuery ? (await api.ask<{ results: TrendSeries[] }>(body, signal)).results : [],
    // The totals are reloaded with the chart.
    [JSON.stringify(body), series],
  );
  // An error of the chart's own query is shown below; this one would repeat it.
  return <Numbers {...props} totals={loaded.value} isLoading={loaded.loading} />;
}

/**
 * One number for each event, of the time that is drawn and of the time before. A range of whole days stays as it is: it
 * decides what the time before is.
 * @param from the chart's first day; "" for none.
 */
export function toTotalsQuery(query: unknown, from: string): object {
  const { breakdownFilter: _, interval, dateRange, trendsFilter, compareFilter, ...source } = toSource(query);
  const range = toFields(dateRange);
  const { date_from = "-7d" } = range;
  // The last letter of -7d or mStart is its unit; a date has none.
  const unit = String(date_from).replace("Start", "").at(-1) ?? "";
  const isDrawnWhole = (interval ?? "day") === "day" && "dwmqy".includes(unit);
  const filter = { ...(trendsFilter as object | null), display: "BoldNumber" };
  return {
    ...source,
    dateRange: { ...range, ...(from !== "" && !isDrawnWhole && { date_from: from.replace(" ", "T") }) },
    trendsFilter: filter,
    compareFilter: { ...toFields(compareFilter), compare: true },
  };
}

interface Figure {
  line?: TrendSeries;
  value?: number | undefined;
  before?: number | undefined;
  until?: TrendSeries["until"];
}

/** The figures by their names, without the time that each series is of. */
function toFigures(series: readonly TrendSeries[], values: readonly (number | undefined)[]) {
  const names = nameAllSeries(series.map((item) => ({ ...item, compare_label: "current" as const })));
  const figures = new Map<string, Figure>();
  for (const [i, line] of series.entries()) {
    const isBefore = line.compare_label === "previous";
    const { until } = line;
    const before = until && values[i] !== undefined ? (until.aggregated_value ?? until.count) : values[i];
    const figure = isBefore ? { before, until } : { line, value: values[i] };
    figures.set(names[i]!, { ...figure, ...figures.get(names[i]!) });
  }
  return figures;
}

interface NumbersProps extends Omit<HeadlineProps, "query"> {
  totals?: readonly TrendSeries[] | undefined;
  isLoading?: boolean;
}

function Numbers({ series, sums, totals = [], isLoading = false, isAlone = false }: NumbersProps) {
  const hrefOfFigure = useFigureHref();
  const isBrokenDown = series.some(({ breakdown_value }) => breakdown_value !== undefined);
  const isSplit = isBrokenDown && !isAlone && (isLoading || totals.length > 0);
  const drawn = toFigures(series, sums);
  const ofWhole = totals.map(({ aggregated_value }) => aggregated_value);
  const whole = toFigures(totals, ofWhole);
  const names = [...(isSplit ? whole : drawn)].flatMap(([name, { line }]) => {
    const value = drawn.get(name)?.value ?? whole.get(name)?.value;
    const { before, until } =
      [drawn, whole].map((of) => of.get(name)).find((of) => of?.before !== undefined) ?? {};
    const href = line && !isSplit && value !== undefined ? linkLine(hrefOfFigure, line, value) : undefined;
    // A number that is being loaded has its space already.
    return line && (value !== undefined || isLoading) ? [{ name, value, before, until, href }] : [];
  });
  if (isSplit && names.length === 0)
    names.push({ name: "", value: undefined, before: undefined, until: undefined, href: undefined });
  if (names.length === 0 || (!isAlone && names.length > headlinesMax)) return null;
  return (
    <div class={isAlone ? "bold-numbers" : "bold-numbers headline"}>
      {names.map(({ name, value, before, until, href }) => (
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
function changeText(value?: number, before?: number, until?: TrendSeries["until"]): string {
  if (value === undefined || before === undefined) return "\u00a0";
  if (before === 0) return `none before${untilText(until)}`;
  const change = Math.round(((value - before) / before) * 100);
  return `${signedText(change, " %")} (before: ${numberText(before)}${untilText(until)})`;
}
