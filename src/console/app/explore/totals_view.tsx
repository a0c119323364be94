// Trends with one number for each line.

import { useFigureHref } from "../actors/figures.tsx";
import { numberText, percentText } from "../ui/format.ts";
import { inkAt } from "../ui/ink.ts";
import { Cut, FigureLink } from "../ui/parts.tsx";
import { Bars, Table } from "../ui/table.tsx";
import { useDark } from "../ui/theme.tsx";
import { Headline, linkLine } from "./headline.tsx";
import { nameAllSeries, nameSeries, shownValue } from "./results.ts";
import type { TrendProps } from "./trend_view.tsx";

/** The names of series. Those of one figure by values are named by these: on a phone a name begins with no more. */
function nameApart(series: TrendProps["series"]) {
  const names = nameAllSeries(series);
  const figures = new Set(series.map((item) => nameSeries({ ...item, breakdown_value: "" })));
  const isByValue = series.length > 1 && series.every((item) => item.breakdown_value !== undefined);
  const [named = ""] = figures;
  if (!isByValue || figures.size > 1) return { names, common: "" };
  const common = named.replace(` · ${shownValue("")}`, "");
  return { names: series.map((item) => shownValue(item.breakdown_value)), common };
}

/** One number for each line: large, as a table, or side by side. */
export function TotalsView({ series, display, query }: Pick<TrendProps, "series" | "display" | "query">) {
  const isDark = useDark();
  const hrefOfFigure = useFigureHref();
  const { names, common } = nameApart(series);
  const totals = series.map((item, i) => {
    const value = item.aggregated_value ?? 0;
    return { label: names[i]!, value, href: linkLine(hrefOfFigure, item, value) };
  });
  if (display === "BoldNumber") {
    return <Headline series={series} display={display} query={query} isAlone />;
  }
  if (display === "ActionsTable") {
    return (
      <>
        {common && <p class="quiet">{common}</p>}
        <Table
          caption="The numbers of the series"
          rows={totals}
          id={({ label }) => label}
          columns={({ column, numberColumn }) => [
            column("Series", ({ label }) => <Cut text={label} />),
            numberColumn("Number", ({ value, href }) => (
              <FigureLink href={href}>{numberText(value)}</FigureLink>
            )),
          ]}
        />
      </>
    );
  }
  const sum = totals.reduce((before, { value }) => before + value, 0);
  const isPie = display === "ActionsPie" && sum > 0 && totals.every(({ value }) => value >= 0);
  const bars = totals.map(({ label, value, href }, i) => ({
    label,
    value,
    href,
    text: isPie ? `${numberText(value)} · ${percentText(value, sum)}` : numberText(value),
    colour: inkAt(i, isDark),
  }));
  let drawnPercent = 0;
  const slices = bars.map(({ value, colour }) => {
    const from = drawnPercent;
    drawnPercent += (value / sum) * 100;
    return `${colour} ${from}% ${drawnPercent}%`;
  });
  return (
    <>
      {common && <p class="quiet">{common}</p>}
      <div class={isPie ? "pie" : ""}>
        {isPie && <div class="slices" style={{ background: `conic-gradient(${slices.join(", ")})` }} />}
        <Bars caption="The numbers of the series" bars={bars} />
      </div>
    </>
  );
}
