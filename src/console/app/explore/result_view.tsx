// A query's results as a picture with a table beneath: every number of the picture can be read as text.

import {
  type FunnelTimes,
  type QueryDrawing,
  toFunnels,
  type TypedResults,
  type WebFigure,
} from "../../../query/result.ts";
import { type DrawnLine, isTotals } from "../../../query/results/figures.ts";
import { DataButtons } from "../ui/copying.tsx";
import { capitalized, durationText, numberText } from "../ui/format.ts";
import { Bars, Table } from "../ui/table.tsx";
import { FunnelView } from "./funnel_view.tsx";
import { figureText, toLines, toTable, untilText } from "./results.ts";
import { TotalsView } from "./totals_view.tsx";
import { TrendView } from "./trend_view.tsx";
import { PathsView } from "./views/paths_view.tsx";
import { RetentionView } from "./views/retention_view.tsx";
import { TableView } from "./views/table_view.tsx";

export interface ViewProps {
  /** On a dashboard: the table is closed. */
  small?: boolean;
  /** Pixels of the picture. */
  height?: number;
  /** Names and types of the columns of a table. */
  columns?: readonly string[];
  types?: readonly string[];
  drawing?: QueryDrawing;
  /** The query of the results, where further queries may be sent; otherwise their numbers of the whole time. */
  query?: unknown;
  totals?: readonly DrawnLine[] | undefined;
  /** The name of the file of its rows. */
  name?: string;
  /** Shown where there are no results. */
  empty?: string;
}

export function ResultView(props: ViewProps & TypedResults) {
  const { small = false, columns = [] } = props;
  if (props.results.length === 0) return <p class="quiet">{props.empty ?? "No such events in this time."}</p>;
  return (
    <>
      <Picture {...props} />
      {!small && <DataButtons {...toTable(props, columns)} {...(props.name && { name: props.name })} />}
    </>
  );
}

function Picture(props: ViewProps & TypedResults) {
  const { small = false, height = 280, columns = [], types = [], drawing = {}, query, totals } = props;
  const { display = "", interval } = drawing;
  switch (props.type) {
    case "series":
      if (isTotals(props.results))
        return <TotalsView series={props.results} display={display} query={query} />;
      return <TrendView series={props.results} {...{ display, small, height, query, totals, interval }} />;
    case "conversions":
      return (
        <TrendView
          series={toLines(props.results)}
          isUnnamed
          {...{ display, small, height, query, interval }}
        />
      );
    case "grid":
      return (
        <RetentionView cohorts={props.results} retentionType={drawing.retentionType} {...{ small, height }} />
      );
    case "steps":
      return <FunnelView funnels={toFunnels(props.results)} query={query} small={small} />;
    case "times":
      return <TimesView times={props.results[0]!} />;
    case "flow":
      return <PathsView links={props.results} height={height} />;
    case "figures":
      return <FiguresView figures={props.results} />;
    default:
      return <TableView rows={props.results} {...{ columns, types, display, height }} />;
  }
}

function FiguresView({ figures }: { figures: WebFigure[] }) {
  const beforeText = ({ until, previous, kind }: WebFigure) =>
    figureText(until ? until.value : previous, kind) + untilText(until);
  return (
    <Table
      caption="The figures of the site"
      rows={figures}
      id={({ key }) => key}
      columns={({ numberColumn, fixedColumn }) => [
        fixedColumn("Figure", ({ key }) => capitalized(key)),
        numberColumn("Value", ({ value, kind }) => figureText(value, kind)),
        numberColumn("Before", beforeText),
      ]}
    />
  );
}

function TimesView({ times: { bins, average_conversion_time: average } }: { times: FunnelTimes }) {
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
