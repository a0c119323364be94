// Rows of a query as a table or, where their columns allow it, as a chart.

import { type ChartRows, nameColumns, shownCell, toChartRows } from "../../../../query/results/chart_rows.ts";
import { toTimes } from "../../../../query/results/figures.ts";
import { Chart } from "../../ui/chart.tsx";
import { numberText } from "../../ui/format.ts";
import { inkAt } from "../../ui/ink.ts";
import { Cut } from "../../ui/parts.tsx";
import { Bars, Table } from "../../ui/table.tsx";
import { useDark } from "../../ui/theme.tsx";

interface TableViewProps {
  rows: readonly (readonly unknown[])[];
  columns: readonly string[];
  types: readonly string[];
  /** PostHog's name of the drawing; a table unless it is a chart's. */
  display: string;
  height: number;
}

/** Letters of a cell: the file has all of them. */
const cellLettersMax = 300;

export function TableView({ rows, columns, types, display, height }: TableViewProps) {
  const names = nameColumns(rows, columns);
  const isChart = display === "ActionsLineGraph" || display === "ActionsBar";
  const chart = isChart ? toChartRows(names, types, rows) : undefined;
  const ids = new Map(rows.map((row, i) => [row, i]));
  const table = (
    <Table
      caption="Rows"
      rows={rows}
      id={(row) => ids.get(row) ?? 0}
      columns={({ column }) =>
        names.map((name, i) => {
          const isNumber = rows.every((row) => typeof row[i] === "number" || row[i] === null);
          const kind = isNumber ? "number" : types[i]?.includes("Date") ? "fixed" : "";
          const format = isNumber ? alignedFormat(rows.map((row) => row[i] as number | null)) : undefined;
          const cellText = (value: unknown) =>
            format && typeof value === "number" ? format.format(value) : shownCell(value);
          return column(name, (row) => <Cut text={cellText(row[i])} lettersMax={cellLettersMax} />, kind);
        })
      }
    />
  );
  return (
    <>
      {isChart && !chart && (
        <p class="notice">
          No chart: it needs a time or a text in the first column, each once, and numbers in the others.
        </p>
      )}
      {chart && <RowsChart chart={chart} isBar={display === "ActionsBar"} height={height} />}
      {chart ? (
        <details class="numbers">
          <summary>Numbers</summary>
          {table}
        </details>
      ) : (
        table
      )}
    </>
  );
}

/** Numbers of a column have as many decimals, three at most, and separators unless all may be years, below 10,000. */
function alignedFormat(values: readonly (number | null)[]): Intl.NumberFormat {
  const decimals = values.map((value) => /\.(\d+)$/.exec(String(value ?? ""))?.[1]?.length ?? 0);
  const fraction = Math.min(
    3,
    decimals.reduce((most, count) => Math.max(most, count), 0),
  );
  return new Intl.NumberFormat("en", {
    useGrouping: fraction > 0 || values.some((value) => Math.abs(value ?? 0) >= 10_000),
    minimumFractionDigits: fraction,
    maximumFractionDigits: fraction,
  });
}

function RowsChart({ chart, isBar, height }: { chart: ChartRows; isBar: boolean; height: number }) {
  const { isTime, names, series } = chart;
  const isDark = useDark();
  const [kind, labels] = [isBar || !isTime ? "Bars" : "Lines", series.map((item) => item.label).join(", ")];
  const label = `${kind} from ${names[0]} to ${names.at(-1)}: ${labels}`;
  if (isTime) {
    const [times, drawing] = [toTimes(names), isBar ? "bar" : "line"] as const;
    return <Chart {...{ label, times, names, lines: series, height, drawing }} named />;
  }
  const bars = names.flatMap((name, i) =>
    series.map((item, j) => ({
      label: series.length > 1 ? `${name} · ${item.label}` : name,
      value: item.values[i] ?? 0,
      text: item.values[i] === null ? "–" : numberText(item.values[i] ?? 0),
      colour: inkAt(j, isDark),
    })),
  );
  return <Bars caption={label} bars={bars} />;
}
