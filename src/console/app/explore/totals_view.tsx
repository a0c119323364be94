// What is one number for each line of a trend.

import { FigureLink, useBehind } from "../actors/figure_link.tsx";
import { personsOfLine } from "../actors/figures.ts";
import { Bars } from "../ui/bars.tsx";
import { numberText, percentText } from "../ui/format.ts";
import { inkAt } from "../ui/ink.ts";
import { useDark } from "../ui/theme.ts";
import { nameOfSeries, type TrendSeries } from "./results.ts";

/** In the title of the persons behind a sum. */
export const wholeTime = "the whole time";

/** To the persons of a line's whole time. */
export function hrefOfLine(behind: ReturnType<typeof useBehind>, line: TrendSeries, value: number) {
  return behind((query) => personsOfLine(query, line), `${nameOfSeries(line)}, ${wholeTime}`, value);
}

/** One number for each line: large where there is one, else side by side. */
export function TotalsView({ series, display }: { series: TrendSeries[]; display: string }) {
  const isDark = useDark();
  const behind = useBehind();
  const totals = series.map((one) => {
    const value = one.aggregated_value ?? 0;
    return { label: nameOfSeries(one), value, href: hrefOfLine(behind, one, value) };
  });
  if (display === "BoldNumber") return <BoldNumbers totals={totals} />;
  const all = totals.reduce((before, { value }) => before + value, 0);
  const isPie = display === "ActionsPie" && all > 0 && totals.every(({ value }) => value >= 0);
  const bars = totals.map(({ label, value, href }, i) => ({
    label,
    value,
    href,
    text: isPie ? `${numberText(value)} · ${percentText(value, all)}` : numberText(value),
    colour: inkAt(i, isDark),
  }));
  let turned = 0;
  const slices = bars.map(({ value, colour }) => {
    const from = turned;
    turned += (value / all) * 100;
    return `${colour} ${from}% ${turned}%`;
  });
  return (
    <div class={isPie ? "pie" : ""}>
      {isPie && <div class="slices" style={{ background: `conic-gradient(${slices.join(", ")})` }} />}
      <Bars caption="The numbers of the series" bars={bars} />
    </div>
  );
}

function BoldNumbers({ totals }: { totals: { label: string; value: number; href: string | undefined }[] }) {
  return (
    <div class="bold-numbers">
      {totals.map(({ label, value, href }, i) => (
        <p key={i}>
          <span class="bold-number">
            <FigureLink href={href}>{numberText(value)}</FigureLink>
          </span>{" "}
          <span class="quiet">{label}</span>
        </p>
      ))}
    </div>
  );
}
