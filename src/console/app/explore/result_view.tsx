// A query's results as a picture with a table beneath: every number of the picture can be read as text.

import { FigureLink, useFigureHref } from "../actors/figure_link.tsx";
import { personsOfLink } from "../actors/figures.ts";
import { Bars } from "../ui/bars.tsx";
import { capitalized, durationText, numberText, percentText } from "../ui/format.ts";
import { Cut } from "../ui/parts.tsx";
import { DataButtons, Table } from "../ui/table.tsx";
import { tableOf } from "./data.ts";
import type { QueryDrawing } from "./drawing.ts";
import { Conversion, FunnelView } from "./funnel_view.tsx";
import { type ConversionTimes, type Figure, type PathLink, recognize, type Results } from "./results.ts";
import { RetentionView } from "./retention_view.tsx";
import { TableView } from "./rows/table_view.tsx";
import { TotalsView } from "./totals_view.tsx";
import { TrendView } from "./trend_view.tsx";

export interface ViewProps {
  results: Results;
  /** On a dashboard: the table is closed. */
  small?: boolean;
  /** Of the picture, in pixels. */
  height?: number;
  /** Names and types of the columns of a table. */
  columns?: readonly string[];
  types?: readonly string[];
  drawing?: QueryDrawing;
  /** The query of the results, where further queries may be sent. */
  query?: unknown;
  /** Shown where there are no results. */
  empty?: string;
}

export function ResultView(props: ViewProps) {
  const { results, small = false, columns = [] } = props;
  if (results.length === 0) return <p class="quiet">{props.empty ?? "No such events in this time."}</p>;
  return (
    <>
      <Picture {...props} />
      {!small && <DataButtons {...tableOf(results, columns)} />}
    </>
  );
}

function Picture(props: ViewProps) {
  const { small = false, height = 280, columns = [], types = [], drawing = {}, query } = props;
  const { display = "" } = drawing;
  const found = recognize(props.results);
  switch (found.of) {
    case "cohorts":
      return <RetentionView cohorts={found.cohorts} retentionType={drawing.retentionType} />;
    case "funnels":
      return (
        <>
          <Conversion funnels={found.funnels} query={query} />
          <FunnelView funnels={found.funnels} />
        </>
      );
    case "times":
      return <TimesView times={found.times} />;
    case "paths":
      return <PathsView links={found.links} />;
    case "figures":
      return <FiguresView figures={found.figures} />;
    case "totals":
      return <TotalsView series={found.series} display={display} query={query} />;
    case "rows":
      return <TableView rows={found.rows} {...{ columns, types, display, height }} />;
    default:
      return <TrendView series={found.series} {...{ display, small, height }} query={query} />;
  }
}

function FiguresView({ figures }: { figures: Figure[] }) {
  const figureText = (value: number | null, { kind }: Figure) => {
    if (value === null) return "";
    if (kind === "duration_s") return durationText(value);
    return kind === "percentage" ? percentText(value, 100) : numberText(value);
  };
  return (
    <Table
      caption="The figures of the site"
      rows={figures}
      id={({ key }) => key}
      columns={[
        { name: "Figure", cell: ({ key }) => capitalized(key), fixed: true },
        { name: "Value", cell: (one) => figureText(one.value, one), number: true },
        { name: "Before", cell: (one) => figureText(one.previous, one), number: true },
      ]}
    />
  );
}

function TimesView({ times: { bins, average_conversion_time: average } }: { times: ConversionTimes }) {
  const bars = bins.map(([seconds, persons], i) => ({
    label: `${durationText(seconds)}${bins[i + 1] ? ` to ${durationText(bins[i + 1]![0])}` : " and more"}`,
    value: persons,
    text: numberText(persons),
  }));
  return (
    <>
      {average === null ? (
        <p>Nobody completed it.</p>
      ) : (
        <div class="bold-numbers headline">
          <p>
            <span class="bold-number">{durationText(average)}</span>
            <span class="quiet">on average</span>
          </p>
        </div>
      )}
      <Bars caption="Persons by how long they took" bars={bars} />
    </>
  );
}

const stepLettersMax = 60;

function PathsView({ links }: { links: PathLink[] }) {
  const hrefOfFigure = useFigureHref();
  const hrefOf = (link: PathLink) =>
    hrefOfFigure(
      (query) => personsOfLink(query, link),
      `From ${shownStep(link.source)} to ${shownStep(link.target)}`,
    );
  return (
    <Table
      caption="The steps of paths"
      rows={links}
      id={({ source, target }) => JSON.stringify([source, target])}
      columns={[
        { name: "From", cell: ({ source }) => <Cut text={shownStep(source)} lettersMax={stepLettersMax} /> },
        { name: "To", cell: ({ target }) => <Cut text={shownStep(target)} lettersMax={stepLettersMax} /> },
        {
          name: "Times",
          cell: (link) => <FigureLink href={hrefOf(link)}>{numberText(link.value)}</FigureLink>,
          number: true,
        },
        {
          name: "Average time",
          cell: ({ average_conversion_time: time }) => durationText(time / 1000),
          number: true,
        },
      ]}
    />
  );
}

/** `2_/tea` as "2. /tea". */
const shownStep = (name: string): string => name.replace("_", ". ");
